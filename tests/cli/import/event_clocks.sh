# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one number if both bounds are one, "behind" below 0, small differences in one line
rows() { # the clocks of shop, of pay in the first 100 requests, behind them, in µs
    awk -v shop=$1 -v pay=$2 -v later=$3 'function n(x) { return sprintf("%.0f", x) }
    BEGIN {
        OFS = ","
        print "id,service,host,event,role,peer,begin_us,end_us"
        split("shop pay stock", names, " ")
        for (i = 0; i < 200; i++) {
            t = 1700000000000001 + i * 1000000
            off[1] = shop; off[2] = i < 100 ? pay : later; off[3] = 0
            print "r" i, "web", "h0", "GET /", "server", "", n(t), n(t + 40000)
            for (k = 1; k <= 3; k++) {
                b = t + k * 10000
                print "r" i, "web", "h0", "call " names[k], "client", names[k], n(b), n(b + 8000)
                print "r" i, names[k], "h" k, "find", "server", "", n(b + 1 + off[k]), n(b + 7999 + off[k])
            }
        }
    }' >lines.csv
    cpt import --events lines.csv -o lines.cptlog 2>&1 | grep -E 'clock'
}
echo '-- one behind'
rows 0 -49450 -49450
echo '-- it drifts'
rows 0 -20000 20000
echo '-- one block'
rows 0 0 50000
echo '-- too little'
rows 2900 0 0
