# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""web_page.py - uses the page of cpt web as a person does, for web_page.sh

    web_page.py FOLDER ARMS WIDE MARKUP GROWS GRAPHS SPANS OPEN     addresses of seven servers
"""
import sys

from browser import Browser, Failure

READY = "document.querySelectorAll('.node').length > 0 && !document.body.classList.contains('busy')"
PAIR = "document.getElementById('icicle-1') && " + READY
DETAIL = "document.querySelector('#detail h3').textContent"


def chip(words):
    return "[...document.querySelectorAll('button.chip')].some((at) => at.textContent.includes(%r))" % words


def mark(page, words):
    """Gives the chip with @words an id, to be clicked."""
    page.until(chip(words), "a button " + words)
    page.ask("[...document.querySelectorAll('button.chip')].find((at) => at.textContent.includes(%r)).id = 'wanted'" % words)
    return "#wanted"


def by_mouse(page, address):
    """Three clicks at most show the component that is slower in the treatment arm."""
    page.size(1280, 900)
    page.open(address)
    page.until(READY, "the first view")
    page.click(mark(page, "Compare by arm: control"))
    page.until(PAIR, "both arms")
    page.expect("document.querySelector('#headline button').textContent.startsWith('▲ B: B2')", "the headline names B2")
    page.click("#headline button")
    page.until(DETAIL + " === '▲ B: B2'", "its numbers are shown")
    page.expect("location.search.includes('base=arm%3Dcontrol') && location.search.includes('zoom=')", "the view is a link")
    here = page.ask("location.href")
    page.ask("history.back()")
    page.until("!location.search.includes('zoom=') && document.getElementById('out').disabled", "back zooms out")
    page.ask("history.back()")
    page.until("document.getElementById('icicle-1') === null && " + READY, "back goes to all requests")
    page.open(here)
    page.until(PAIR, "the link opens the same view")
    page.until(DETAIL + " === '▲ B: B2'", "the link opens the same stack")


def tab_to(page, expression, what):
    for _ in range(60):
        if page.ask(expression):
            return
        page.press("Tab")
    raise Failure("the Tab key never comes to " + what)


def by_keyboard(page, address):
    page.open(address)
    page.until(chip("Compare by arm: control"), "a comparison to choose")
    tab_to(page, "document.activeElement.textContent.startsWith('Compare by arm: control')", "the comparison")
    page.press("Enter")
    page.until(PAIR, "both arms")
    tab_to(page, "document.activeElement.matches('#headline button')", "the headline")
    page.press("Enter")
    page.until(DETAIL + " === '▲ B: B2'", "its numbers are shown")
    page.expect("document.activeElement.classList.contains('node')", "the focus is at its frame")
    page.press("Escape", "ArrowUp")
    page.expect("document.activeElement.classList.contains('node')", "arrows move in the graph")


def boxes(page, address):
    page.open(address)
    page.until(READY)
    page.click("#box-where")
    page.type("region=e")
    page.until("document.querySelector('#options-where li')?.textContent.startsWith('region=eu')", "completion")
    page.press("ArrowDown")
    page.expect("document.getElementById('box-where').getAttribute('aria-activedescendant') === 'where-option-0'", "an option is chosen")
    page.press("Enter")
    page.until("location.search.includes('where=region%3Deu')", "the option is taken")
    page.until("document.querySelector('.summary').textContent.includes('40 requests')", "40 requests of eu")
    page.click("#box-base")
    page.type("nonsense ((")
    page.press("Enter")
    page.until("!document.getElementById('error-new').hidden", "without new, base is no question")
    page.click("#box-new")
    page.type("arm=treatment")
    page.press("Enter")
    page.until("!document.getElementById('error-base').hidden && document.getElementById('error-new').hidden",
               "the error stands at the box that it is about")
    page.expect("document.getElementById('box-base').getAttribute('aria-invalid') === 'true'", "and is told to a screen reader")


def mix(page, address):
    page.open(address + "?base=arm%3Dcontrol&new=arm%3Dtreatment&mix=region")
    page.until(PAIR)
    page.expect("document.getElementById('table-hint').textContent.includes('mix of region')", "the mix is named")
    page.expect("document.querySelector('#headline button').textContent.startsWith('▲ B: B2')", "B2 is slower in each region")


def brush(page, address):
    page.open(address)
    page.until(READY)
    page.drag("#bars", 0.8, 0.999)
    page.until("/min_ns=\\d+/.test(location.search)", "a range was dragged")
    page.until(READY + " && /24 requests/.test(document.querySelector('.summary').textContent)",
               "the slow requests are selected")
    page.expect("document.querySelectorAll('#bars rect').length > 5", "the histogram still has all requests")
    page.click("#latency-clear")
    page.until("!/min_ns/.test(location.search)", "the range is cleared")
    page.until(READY)
    page.ask("document.getElementById('thumb-0').focus()")
    page.press(*["ArrowRight"] * 30)
    page.until("/min_ns=\\d+/.test(location.search)", "a range was set by keys")
    page.until(READY)
    page.press("Escape")
    page.until("!/min_ns/.test(location.search)", "Escape clears it")


def records(page, address):
    page.open(address)
    page.until("document.querySelectorAll('table.records tbody tr').length === 20", "a list of requests")
    page.click("table.records tbody button")
    page.until("!document.getElementById('record').hidden && document.querySelectorAll('#record .fall').length > 3", "its waterfall")
    page.expect("document.querySelector('#record dl').textContent.includes('region')", "its attributes")
    page.expect("location.search.includes('record=')", "it is a link")
    page.open(page.ask("location.href"))
    page.until("document.querySelectorAll('#record .fall').length > 3", "the link opens it")
    page.ask("State.set({by: 'edge', record: ''}, true)")
    page.until("document.getElementById('table-title').textContent.startsWith('Edges')", "rows of edges")
    page.until("document.querySelector('#rows').textContent.includes('A -> B')", "an edge")


def phone(page, address):
    page.size(390, 800, True)
    for query in ("", "?base=arm%3Dcontrol&new=arm%3Dtreatment"):
        page.open(address + query)
        page.until(READY)
        page.expect("document.documentElement.scrollWidth <= window.innerWidth", "no page is wider than a phone")
    page.expect("document.querySelector('[data-sort=q]').getBoundingClientRect().right <= window.innerWidth", "q is on the screen")
    page.size(1280, 900)


def wide(page, address):
    page.prefer(color_scheme="dark", reduced_motion="reduce")
    page.open(address + "?base=arm%3Dcontrol&new=arm%3Dtreatment&sort=q")
    page.until(PAIR, "ten thousand stacks")
    page.expect("document.querySelector('#rows tr.data button').textContent === 'A: needle'", "the smallest change is the first by q")
    page.expect("document.querySelector('#headline button').textContent.startsWith('▲ A: needle')", "and in the headline")
    page.click("#search")
    page.type("straw")
    page.until("document.getElementById('found').textContent.startsWith('10000 stacks found')", "all are searched")
    page.expect("getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 27)'", "it is dark")


def hostile(page, address):
    page.open(address)
    page.until(READY)
    page.until("document.querySelectorAll('table.records tbody tr').length === 1", "the request")
    page.click("table.records tbody button")
    page.until("document.querySelectorAll('#record .fall').length > 1", "its waterfall")
    page.click("#box-where")
    page.until("true")
    page.expect("window.owned === undefined && document.images.length === 0 && document.scripts.length === 2", "no name became markup")


def grows(page, address, folder):
    """New requests appear where the reader stands."""
    page.open(address + "?zoom=A: /;A: A1")
    page.until(READY)
    before = page.ask("Number(/(\\d+) requests/.exec(document.querySelector('.summary').textContent)[1])")
    page.ask("[...document.querySelectorAll('.node')].find((at) => at.title.startsWith('B: B2')).focus()")
    with open(folder + "/grows.rest", "rb") as rest, open(folder + "/grows.cptlog", "ab") as log:
        log.write(rest.read())
    page.until("/119 requests/.test(document.querySelector('.summary').textContent)", "the new requests")
    page.expect("%d < 119" % before, "there were fewer before")
    page.expect("document.activeElement.title?.startsWith('B: B2')", "the focus stays")
    page.expect("!document.getElementById('out').disabled && location.search.includes('zoom=')", "the zoom stays")


def sliders(page, address):
    """A slider that is moved shows the new latencies and the new path, without a new page."""
    after = "document.querySelector('#answer tbody tr td:nth-of-type(2)').textContent"
    first = "document.querySelector('input[type=range]')"
    page.open(address + "whatif")
    page.until(first + "?.name === 'share:B: B2'", "a slider for the frame that gives most")
    page.ask("window.here = 1")
    before = page.ask(after)
    page.ask(first + ".focus()")
    page.press("ArrowLeft", "ArrowLeft")
    page.until("Number(%s) < %s" % (after, before), "a smaller mean")
    page.until("location.search === '?share%3AB%3A+B2=90'", "the view is a link")
    page.expect("document.querySelector('output').textContent === '90 %'", "its percent")
    page.expect("document.querySelector('.flames .faster')?.title.includes(', was ')", "the new path")
    page.expect("document.activeElement === " + first, "the focus stays")
    page.click("#terms")
    page.type("set B: B3=0")
    page.until("document.getElementById('error').textContent.includes('nearest name')", "what is wrong with a term")
    page.expect("window.here === 1", "it is the same page")
    page.errors[:] = [error for error in page.errors if "status of 400" not in error]  # that term
    page.open(address)
    page.until("!document.getElementById('whatif').hidden", "a link below the flame graph of requests")
    page.expect("document.getElementById('whatif-page').pathname === '/whatif'", "to the sliders")


def doubt(page, address):
    """A slider of spans that do not tell their waits says what could be, and why."""
    mean = "document.querySelector('#answer tbody tr td:nth-of-type(3)').textContent"
    hostile = "[...document.querySelectorAll('input[type=range]')].find((at) => at.name.includes('alert(1)'))"
    front = "[...document.querySelectorAll('input[type=range]')].find((at) => at.name === 'share:front: *')"
    page.open(address + "whatif")
    page.until(front + "?.value === '100'", "a slider for a service")
    page.expect(front + ".closest('tr').textContent.includes('cannot tellcould be ')", "what half of it gives")
    page.expect("document.querySelector('.verdict') === null", "no verdict before a change")
    page.ask(front + ".focus()")
    page.press("ArrowLeft")
    page.until("document.querySelector('.verdict')?.textContent.includes(': 40 requests do not tell')", "the wait in doubt")
    page.expect(mean + ".startsWith('cannot tellcould be -')", "no number")
    page.press("ArrowRight")
    page.until("location.search === '' && document.querySelector('.verdict') === null", "back")
    page.ask(hostile + ".focus()")
    page.press(*["ArrowLeft"] * 10)
    page.until("Number(%s.split('could')[0]) < -0.1" % mean, "a service whose name is markup is faster")
    page.expect("document.querySelector('.verdict').textContent.includes('The mean changes by -')", "its verdict")


def tokens(page, address):
    """The token of an address that others reach goes with all that is asked, and with each link."""
    token = address.split("?")[1]
    has_token = "location.search.includes(%r)" % token
    page.open(address)
    page.until(READY, "the first view")
    page.click(mark(page, "Compare by arm: control"))
    page.until(PAIR, "both arms")
    page.expect(has_token, "the view is a link with the token")
    here = page.ask("location.href")
    page.open("about:blank")
    page.open(here)
    page.until(PAIR, "the link opens the same view")
    page.until("document.querySelectorAll('table.records tbody tr').length > 1", "requests")
    page.click("table.records tbody button")
    page.until("document.querySelectorAll('#record .fall').length > 1", "one request")
    page.until("!document.getElementById('whatif').hidden", "a link to the sliders")
    page.click("#whatif-page")
    page.until("document.querySelector('input[type=range]')?.name === 'share:B: B2'", "the sliders")
    page.expect(has_token, "their address has the token")
    page.ask("document.querySelector('input[type=range]').focus()")
    page.press("ArrowLeft")
    page.until("location.search.includes('share%3AB%3A+B2=95')", "a slider that was moved")
    page.expect(has_token, "the token stays")
    page.ask("document.querySelector('header a').id = 'home'")
    page.click("#home")
    page.until(READY, "back to all requests")
    page.expect(has_token + " && document.cookie === ''", "with the token, and without a cookie")
    page.open(address.split("?")[0])
    page.until("document.getElementById('error')?.textContent.includes('token')", "without it a page says what is missing")
    page.errors[:] = [error for error in page.errors if "status of 403" not in error]  # that page


def main(folder, arms, wide_at, markup, grows_at, graphs_at, spans_at, open_at):
    with Browser(folder) as browser:
        page = browser.page()
        for step in (by_mouse, by_keyboard, boxes, mix, brush, records, phone):
            step(page, arms)
            print("sound:", step.__name__)
        other = browser.page()
        for step, address in ((wide, wide_at), (hostile, markup), (by_mouse, arms)):
            step(other, address)
            print("sound:", step.__name__)
        sliders(other, graphs_at)
        print("sound: sliders")
        doubt(other, spans_at)
        print("sound: doubt")
        tokens(other, open_at)
        print("sound: tokens")
        grows(other, grows_at, folder)
        print("sound: grows")
        page.expect("document.getElementById('icicle-1') !== null", "one reader does not disturb another")
        errors = page.errors + other.errors
        if errors:
            raise Failure("on the console: " + "; ".join(errors))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failure as failure:
        sys.exit("web_page: %s" % failure)
