"""The publishable page of a release: made from noisy answers and public facts alone."""

from understudy.report.report import Report, report_of, report_page

__all__ = ["Report", "report_of", "report_page"]
