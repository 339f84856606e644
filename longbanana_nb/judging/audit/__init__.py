"""The audit of one's own judge: minimal pairs made, judged and counted, and a canary set asked again later."""
