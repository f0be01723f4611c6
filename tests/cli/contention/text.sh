# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the holders of locks and workers, and who waited for them; and a log without waits
make_log contended >contended.cptlog
cpt contention contended.cptlog
make_log few >few.cptlog
cpt contention few.cptlog
