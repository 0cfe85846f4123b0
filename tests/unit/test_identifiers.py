"""Which column names suggest an identifier or a personal field, and which do not."""

import pytest

from understudy.column import Column, Kind, Role
from understudy.encode.ops import Storage
from understudy.identifiers import (
    NamePart,
    Suggestion,
    holds_street,
    holds_uuid,
    name_part,
    suggested_role,
    suggestions,
    whose,
)
from understudy.schema import Schema

CERTAIN = {
    Role.EMAIL: "email E-Mail e_mail EMAIL_ADDRESS emailAddress customer_email work_email "
    "email_cliente contactEmail courriel correo_electronico email2 Email-Adresse "
    "posta_elettronica endereco_de_email",
    Role.PHONE: "phone Phone_Number phoneNo home_phone mobile_number CustomerPhone "
    "numero_de_telefono Telefonnummer Handynummer cell_phone work_phone_number faxNumber",
    Role.NAME: "first_name firstName FIRSTNAME last_name LastName surname Surname full_name "
    "given_name family_name customer_name patientName name_of_patient Vorname Nachname prénom "
    "nom_de_famille apellidos nombre_completo cognome sobrenome achternaam voornaam "
    "mother_maiden_name Kundenname nom_client nombre_del_cliente employee.name",
    Role.ADDRESS: "street_address address_line_1 mailing_address billing_address_full AddressLine2 "
    "home_address customer_street_address Postanschrift direccion_postal",
    Role.URL: "profile_url linkedin_url",
    Role.FREE_TEXT: "free_text FreeText Freitext",
    Role.ID: "id ID Id uuid GUID user_id userid customerID CustomerId patient_id PassengerId ssn "
    "social_security_number iban passport_number account_number rowid RowNumber row_id national_id "
    "tax_id id_cliente Kunden-ID codice_fiscale credit_card_number employee_uuid member_id",
}
UNCERTAIN = {
    Role.EMAIL: "mail correo backup_email",
    Role.PHONE: "telephone mobile tel fax Telefon movil cellulare",
    Role.NAME: "name Name nom nombre Naam nome",
    Role.ADDRESS: "address Adresse street Straße rue indirizzo",
    Role.URL: "url website homepage image_url link",
    Role.FREE_TEXT: "notes Comments description job_description remarks Bemerkung observaciones "
    "commentaire customer_feedback opmerkingen note",
    Role.ID: "store_id product_id order_id encounter_id CustomerKey order_number invoice_no "
    "kundennummer customer_nbr id_tienda index username ip_address passport photo_id",
}
ORDINARY = """
    valid paid void grid midwife telescope emailed id_verified identity_verified phone_plan
    PhoneService address_type name_length url_count has_email is_email_valid email_opt_in
    email_domain email_campaign num_emails number_of_emails no_phone comment_count num_comments
    notes_count product_name company_name CategoryName file_name country_name city_name model_name
    event_name mobile_app mail_order mailing_list direct_mail street_lights link_speed
    consumer_price_index body_mass_index context texture prefix unit_number flight_number
    house_number number_of_children number region_code zip postal_code city country state region
    gender sex age birth_date date_of_birth occupation education-num capital-gain marital_status
    income salary diag_1 num_procedures number_emergency admission_type contact last_contact
    contact_type cell_type humid rapid hybrid acid covid liquid android video idle ideal width
    keyboard score_text first last full customer client patient user account balance
    account_type account_balance customer_segment days_since_email avg_notes
    email_status verified_phone preferred_phone phone_type key_skills text_color Unnamed:_32 nid
    height(cm) eyesight(left) a1 x 年齢
"""
FALSE_FRIENDS = [*ORDINARY.split(), "Unnamed: 32", "urine protein", "", " ", "1", "___"]


def listed(by_role):
    return [(name, role) for role, names in by_role.items() for name in names.split()]


@pytest.mark.parametrize(("name", "role"), [*listed(CERTAIN), ("Unnamed: 0", Role.ID)])
def test_some_names_are_enough(name, role):
    assert suggested_role(name) == Suggestion(role, certain=True)


@pytest.mark.parametrize(("name", "role"), listed(UNCERTAIN))
def test_some_names_need_evidence_from_the_rows(name, role):
    assert suggested_role(name) == Suggestion(role, certain=False)


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_other_names_suggest_nothing(name):
    assert suggested_role(name) is None


PUBLIC_TABLES = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income mean_radius
    worst_fractal_dimension longitude latitude housing_median_age ocean_proximity
    juv_fel_count days_b_screening_arrest
    c_charge_degree c_charge_desc decile_score v_score_text two_year_recid household_position
    prev_residence_place cur_eco_activity UTILNAME RESREVENUE saving_accounts checking_account
    personal_status_sex num_dependents foreign_worker zfygpa pass_bar sgpt_alamine_aminotransferase
    PUMA HOUSING_TYPE PINCP_DECILE PAID_UP_CAPITAL Prefix HomeOwner SubcategoryName ModelName
    ProductName bank_to account_to k_symbol REASONCODE PATIENT ENCOUNTER birthDate InnOuts
"""


@pytest.mark.parametrize("name", PUBLIC_TABLES.split())
def test_features_of_public_tables_are_features(name):
    assert suggested_role(name) is None


def undeclared(*names):
    return Schema(tuple(Column(name=name, kind=Kind.UNKNOWN) for name in names))


def test_declared_and_used_columns_have_the_role_that_somebody_gave_them():
    schema = Schema(
        (
            Column(name="email", kind=Kind.UNKNOWN),
            Column(name="phone", kind=Kind.CATEGORICAL),
            Column(name="ssn", kind=Kind.UNKNOWN, null=False),
            Column(name="first_name", kind=Kind.UNKNOWN, role=Role.TARGET),
            Column(name="uuid", kind=Kind.UNKNOWN),
        )
    )
    storage = dict.fromkeys(schema.names, Storage.TEXT)
    assert suggestions(schema, storage, {"uuid"}) == {"email": Suggestion(Role.EMAIL, certain=True)}


@pytest.mark.parametrize(
    ("storage", "found"),
    [
        (Storage.TEXT, {"email", "phone", "id", "notes"}),
        (Storage.INTEGER, {"phone", "id"}),
        (Storage.FLOAT, {"phone", "id"}),
        (Storage.BOOLEAN, set()),
        (Storage.DATE, set()),
        (Storage.TIMESTAMP, set()),
    ],
)
def test_storage_must_be_able_to_hold_such_values(storage, found):
    schema = undeclared("email", "phone", "id", "notes", "age")
    assert {*suggestions(schema, dict.fromkeys(schema.names, storage))} == found


def test_names_tell_parts_and_persons():
    assert name_part("customer_first_name") is NamePart.FIRST
    assert name_part("Nachname") is NamePart.LAST
    assert name_part("name") is NamePart.WHOLE
    assert whose("mother_surname") == "mother"
    assert whose("first_name") == whose("surname") == whose("email") == ""
    assert holds_uuid("device_UUID")
    assert not holds_uuid("id")
    assert holds_street("Straße")
    assert not holds_street("address")
