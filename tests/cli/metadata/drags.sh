# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a path with the drags of its segments, one of them not known
value=CAEQsMU3GKD3NioEQTogLyoIQTogcGFyc2UqCEE6IGluZGV4KglCOiBMb29rdXAqB0E6IHJhbmsqCUE6IHJlbmRlcjIHAAECAQEFBjoHAQIDBAAFBkIFAAAAAAJKBgECAwQFBlISwJoMwLgC8IQOsOoB8JMJkKEPcgECegEBigEBApIBBwAAo/4KAAI
cpt metadata "$value"
cpt metadata --json "$value" | tr '{' '\n' | grep -o '"duration_ns.*'
