"""The publishable page of a release: made from noisy answers and public facts alone."""

from understudy.report.report import Report, report_of, write_report

__all__ = ["Report", "report_of", "write_report"]
