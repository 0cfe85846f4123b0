"""The words that `identifiers` compares column names with: en, de, fr, es, it, nl and pt.

All are in lower case and without accents. A core of several words is written as one.
"""

from understudy.column import Role


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EMAILS = _listed(
    "email emailaddress emailaddr emailadresse mailadresse mailaddress mailaddr emailadres "
    "courriel adressemail adresseemail adressedecourriel adresseelectronique correoelectronico "
    "direcciondecorreo postaelettronica indirizzoemail indirizzomail enderecoemail enderecodeemail "
    "correioeletronico"
)
_PHONES = _listed(
    "phone phonenumber phoneno phonenr phonenum mobilenumber mobileno mobilephone "
    "mobilephonenumber cellphone cellphonenumber cellnumber telephonenumber telephoneno "
    "contactnumber contactphone faxnumber msisdn telefonnummer telefonnr handynummer handynr "
    "mobilnummer numerodetelephone numerotelephone numtelephone numerodetelefono numerotelefono "
    "numeroditelefono numerodicellulare numerocellulare telefoonnummer mobielnummer "
    "numerodetelefone numerotelefone"
)
_NAMES = _listed(
    "fullname personname vollername nomcomplet nombrecompleto nomecompleto nomeecognome "
    "volledigenaam nomprenom nombresyapellidos vornamenachname"
)
FIRST_NAMES = _listed(
    "firstname givenname forename middlename fname vorname prenom primernombre segundonombre "
    "voornaam primeironome"
)
LAST_NAMES = _listed(
    "lastname surname familyname maidenname birthname lname nachname familienname geburtsname "
    "nomdefamille nomdenaissance apellido apellidos primerapellido segundoapellido cognome "
    "achternaam familienaam sobrenome apelido ultimonome"
)
_ADDRESSES = _listed(
    "addressline streetaddress postaladdress mailingaddress homeaddress residentialaddress "
    "shippingaddress billingaddress deliveryaddress postanschrift wohnadresse adressepostale "
    "direccionpostal indirizzodiresidenza woonadres enderecopostal"
)
_URLS = _listed("profileurl linkedinurl facebookurl personalwebsite personalurl")
_IDS = _listed(
    "uuid guid rowid rownumber rownum rownames recordid personid ssn "
    "socialsecuritynumber socialsecurityno socialinsurancenumber nationalid nationalidnumber "
    "nationalinsurancenumber nhsnumber taxid taxpayerid passportnumber passportno "
    "passportid iban accountnumber accountno accountnr bankaccountnumber "
    "creditcardnumber ccnumber cardnumber driverlicense driverslicense driverlicensenumber "
    "driverslicensenumber licenseplate numberplate medicalrecordnumber imei "
    "personalausweisnummer reisepassnummer sozialversicherungsnummer steuernummer "
    "steueridentifikationsnummer steuerid kontonummer kontonr kreditkartennummer "
    "numerodesecuritesociale numerodepasseport numerodecompte numerodecuenta "
    "numerodepasaporte numerodeseguridadsocial codicefiscale numerodipassaporto numerodiconto "
    "burgerservicenummer paspoortnummer rekeningnummer numerodepassaporte numerodeconta"
)
_FREE_TEXTS = _listed("freetext freitext textelibre textolibre testolibero vrijetekst textolivre")

CERTAIN: dict[str, Role] = {
    **dict.fromkeys(_EMAILS, Role.EMAIL),
    **dict.fromkeys(_PHONES, Role.PHONE),
    **dict.fromkeys(_NAMES | FIRST_NAMES | LAST_NAMES, Role.NAME),
    **dict.fromkeys(_ADDRESSES, Role.ADDRESS),
    **dict.fromkeys(_URLS, Role.URL),
    **dict.fromkeys(_IDS, Role.ID),
    **dict.fromkeys(_FREE_TEXTS, Role.FREE_TEXT),
}
"""Cores that say enough, alone or beside words about people and places."""

STREETS = _listed("street streetname strasse strassenname rue calle straat straatnaam rua")
_TEXTS = _listed(
    "comment comments notes note remark remarks description descriptions feedback message memo "
    "narrative reviewtext bemerkung bemerkungen anmerkung anmerkungen kommentar kommentare "
    "beschreibung notiz notizen commentaire commentaires remarque remarques comentario comentarios "
    "observaciones descripcion notas commento commenti descrizione opmerking opmerkingen "
    "omschrijving beschrijving toelichting observacoes descricao"
)
_LINKS_TO = _listed(
    "url uri website webpage weburl homepage hyperlink webseite siteweb sitioweb sitoweb"
)

UNCERTAIN: dict[str, Role] = {
    **dict.fromkeys(_listed("mail emails correo correio"), Role.EMAIL),
    **dict.fromkeys(
        _listed(
            "telephone mobile tel fax telefon handy mobil mobiltelefon telefono movil celular "
            "cellulare telefoon mobiel telefone telemovel"
        ),
        Role.PHONE,
    ),
    **dict.fromkeys(_listed("nickname displayname screenname"), Role.NAME),
    **dict.fromkeys(
        _listed(
            "address addr adresse anschrift direccion domicilio indirizzo residenza adres endereco "
            "morada"
        )
        | STREETS,
        Role.ADDRESS,
    ),
    **dict.fromkeys(_LINKS_TO | {"link", "linkedin"}, Role.URL),
    **dict.fromkeys(
        _listed(
            "username login uid oid index identifier identifiant identificador identificatore "
            "ipaddress ipaddr macaddress dni nif bsn cpf "
            "mrn vin passport bankaccount creditcard socialsecurity driverlicense driverslicense "
            "drivinglicence kennzeichen"
        ),
        Role.ID,
    ),
    **dict.fromkeys(_listed("key ids kennung"), Role.ID),
    **dict.fromkeys(_TEXTS | {"text", "body", "abstract"}, Role.FREE_TEXT),
}
"""Cores that need evidence from the rows."""
HEADS = (
    _LINKS_TO
    | (_TEXTS - {"note"})
    | _listed("key identifier identifiant identificador username ipaddress macaddress adresse")
)
"""Uncertain cores that keep their meaning after any other word, as in `job_description`."""

NAMES = _listed("name names nom nombre nombres nome naam")
"""Of a person where a word about people stands beside it."""
NUMBERS = _listed("number no nr nbr num numero nummer")
"""An identifier where a word beside it says what is numbered."""
NUMBERED = _listed(
    "policy order invoice ticket case serial reference contract claim vat tax insurance licence "
    "license registration tracking receipt document application enrollment rechnungs rechnung "
    "bestell bestellung vertrags vertrag versicherungs auftrags facture commande contrat factura "
    "pedido contrato fattura ordine factuur"
)

CORES = frozenset({"id", *CERTAIN, *UNCERTAIN, *NAMES, *NUMBERS})
"""All single cores, for parting compounds such as `userid`."""

IDENTIFIED = _listed(
    "customer customers client patient user person people member employee student respondent "
    "participant applicant account subscriber passenger row record kunde kunden patienten "
    "mitarbeiter mitglied mitglieds benutzer personen cliente clientes paciente paziente empleado "
    "usuario utente utilisateur klant klanten medewerker gebruiker dipendente aluno alumno eleve "
    "salarie"
)
"""Whose ids identify, one by one."""
PEOPLE = IDENTIFIED - {"row", "record"} | _listed(
    "teacher doctor physician nurse contact subject borrower guest driver owner tenant author "
    "sender recipient receiver holder guardian parent mother father mothers fathers spouse child "
    "beneficiary buyer seller candidate worker manager agent resident citizen insured cardholder "
    "partner ansprechpartner vater mutter arzt contacto medecin patiente"
)
PLACES = _listed(
    "home work business office private personal primary secondary main alternate alternative alt "
    "other billing shipping mailing postal delivery residential current permanent emergency legal "
    "street day daytime evening full first last cell line privat geschaftlich privee pro "
    "professionnel personnel particular trabajo casa lavoro mobile"
)
"""Words that say which of several: `home_phone`, `billing_address`."""
LINKS = _listed("of the s de du des del la le el di da do dos der die das des von van het e y")
BLOCKING = _listed(
    "is has had have was were can may n nb count counts cnt total sum avg mean max min valid "
    "validated verified confirmed opt optin allow allowed prefer prefers preferred by via received "
    "opened clicked sent shared changed change wants with uses use used days pct percent share "
    "rate ratio score len length size type types kind category status flag provider domain plan "
    "hat ist anzahl nombrede"
)
"""Words that make a column one about such a field, not the field: `has_phone`, `url_count`."""
