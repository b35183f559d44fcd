"""One partition of coordinators: its event loop and queue, its batches, its log, and until when that is committed."""
