"""What leaves the device: the report, its JSON form, and why one is rejected.

The columnar form needs Arrow and is in `pldp.reports.columns`, so that a device never loads it.
"""

from pldp.reports.record import Answer, Rejection, Report, ReportRejected, body_length, read_report, report_id

__all__ = ["Answer", "Rejection", "Report", "ReportRejected", "body_length", "read_report", "report_id"]
