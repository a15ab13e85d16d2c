# Copyright (c) the mlo authors. BSD-3-Clause.
"""mlo report, mlo fit --report and mlo plot; and the page in a browser."""
import os
import re
import unittest
import xml.etree.ElementTree

from browser import Browser, chromium
from support import PATIENCE_SECONDS, CommandTest

USAGE, DATA = 2, 3
SHORT = ("--seed", "5", "--chains", "3", "--warmup", "100", "--draws", "200", "--quiet")


class Report(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_data()

    def page(self, *names):
        return self.read(*names).decode()

    def test_fit_writes_it_beside_the_draws(self):
        result = self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT[:-1], "--out", "run", "--report")
        self.assertIn("mlo fit: the report is in run/report.html\n", result.stderr)
        page = self.page("run", "report.html")
        self.assertIn("mlo fit data.csv &quot;y ~ x1 + x2&quot; --chains 3 --warmup 100 --draws 200 --seed 5", page)
        # The same from the run alone, wherever it is written; only the times of the run are not known twice.
        self.good("report", "run", "--out", "again.html", "--quiet")
        self.assertEqual(self.page("again.html"), page)

    def test_it_is_not_written_without_a_directory(self):
        result = self.mlo("fit", "data.csv", "y ~ x1", *SHORT, "--report")
        self.assertEqual(result.code, USAGE)
        self.assertEqual(result.stderr, "mlo fit: --report needs --out: the report is written to that directory\n")

    def test_report_writes_to_the_run_directory_and_says_where(self):
        self.good("fit", "data.csv", "y ~ x1", *SHORT, "--out", "run")
        result = self.good("report", "run")
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^mlo report: run/report.html, 0\.\d MB\n$")
        self.assertIn("report.html", self.files("run"))
        # A run with a report is read as before.
        self.good("summary", "run")
        self.good("report", "run", "--quiet")

    def test_what_is_not_a_run_is_refused(self):
        self.assertIn("no such run directory", self.mlo("report", "nowhere").stderr)
        self.assertEqual(self.mlo("report", "nowhere").code, DATA)
        self.good("fit", "data.csv", "y ~ x1", *SHORT, "--out", "run")
        result = self.mlo("report", "run", "--out", "no/such/place.html")
        self.assertEqual(result.code, DATA)
        self.assertIn("no/such/place.html", result.stderr)
        result = self.mlo("report", "run", "--out", ".")
        self.assertEqual((result.code, result.stderr), (DATA, "mlo report: .: is a directory, not a file\n"))

    def test_warnings_speak_of_options_as_the_command_line_has_them(self):
        self.good("fit", "data.csv", "y ~ x1", "--seed", "1", "--chains", "2", "--draws", "20", "--warmup", "20",
                  "--quiet", "--out", "run", "--report")
        page = self.page("run", "report.html")
        # An option is not broken at the end of a line, and a sentence begins with a capital.
        self.assertIn('take more <span class="option">--draws</span>', page)
        self.assertRegex(page, "<li>Only [0-9]+ effective draws")
        self.assertNotIn("`draws`", page)


class Plot(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_data()
        self.good("fit", "data.csv", "y ~ x1 + poly(x2, 2)", *SHORT, "--out", "run")

    def test_every_kind_is_a_drawing(self):
        for kind in ("forest", "density", "trace", "rank", "pairs"):
            with self.subTest(kind=kind):
                self.good("plot", "run", "--kind", kind, "--out", f"{kind}.svg")
                root = xml.etree.ElementTree.fromstring(self.read(f"{kind}.svg"))
                self.assertTrue(root.tag.endswith("svg"))
                text = self.read(f"{kind}.svg").decode()
                for name in ("x1", "poly(x2, 2)1"):
                    self.assertIn(f">{name}<", text)

    def test_parameters_are_named_with_commas_of_their_own(self):
        self.good("plot", "run", "--kind", "density", "--parameters", "x1, poly(x2, 2)2", "--out", "two.svg")
        text = self.read("two.svg").decode()
        self.assertEqual(re.findall(r'class="title"[^>]*>([^<]*)<', text), ["x1", "poly(x2, 2)2"])

    def test_what_cannot_be_drawn_is_refused_with_words(self):
        for args, code, words in (
                (("--kind", "pie", "--out", "x.svg"), USAGE,
                 '--kind must be one of forest, density, trace, rank, pairs (got "pie")'),
                (("--out", "x.pdf"), USAGE, '--out: the name must end with .svg or .png (got "x.pdf")'),
                (("--parameters", "z", "--out", "x.svg"), USAGE, '--parameters: the run has no parameter "z"; it has '
                 "(Intercept), x1, poly(x2, 2)1, poly(x2, 2)2"),
                (("--parameters", "intercept", "--out", "x.svg"), USAGE,
                 '--parameters: the run has no parameter "intercept"; did you mean (Intercept)?'),
                (("--kind", "pairs", "--parameters", "x1", "--out", "x.svg"), USAGE,
                 "--kind pairs needs two parameters at least"),
                (("--out", "no/such/x.svg"), DATA, "no/such/x.svg")):
            with self.subTest(args=args):
                result = self.mlo("plot", "run", *args)
                self.assertEqual(result.code, code, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertNotIn("x.svg", self.files())

    def test_png_is_drawn_or_refused_with_words(self):
        result = self.mlo("plot", "run", "--out", "x.png")
        if result.code == 0:
            self.assertEqual(self.read("x.png")[:8], b"\x89PNG\r\n\x1a\n")
        else:
            self.assertEqual(result.code, DATA)
            self.assertIn("librsvg2-2", result.stderr)
            self.assertNotEqual(os.environ.get("MLO_REQUIRE_ALL"), "1", result.stderr)


class Page(CommandTest):
    """In Debian's chromium."""

    @classmethod
    def setUpClass(cls):
        if not chromium():
            if os.environ.get("MLO_REQUIRE_ALL") == "1":
                raise AssertionError("chromium is not installed")
            raise unittest.SkipTest("chromium is not installed: the page is not tried in a browser")
        cls.browser = Browser(PATIENCE_SECONDS / 4)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.make_data()
        self.good("fit", "data.csv", "y ~ poly(x1, 7) + x2", "--seed", "5", "--quiet", "--out", "run", "--report",
                  "--holdout", "0.1")
        b = self.browser
        b.problems.clear()
        b.requests.clear()
        b.size(1200, 900)
        b.scheme("light")
        b.open(self.path("run", "report.html"))

    def names(self):
        return self.browser.run("[...document.querySelectorAll('#table tbody tr')].filter(r => !r.hidden)"
                                ".map(r => r.cells[0].textContent)")

    def charts(self):
        """Whether this build has the library that draws in the page."""
        return self.browser.run("typeof uPlot !== 'undefined'")

    def test_it_opens_without_errors_and_without_a_network(self):
        b = self.browser
        self.assertRegex(b.run("document.querySelector('#verdict h2').textContent"), "Exact and converged|Usable with care")
        self.assertIn("The draws are exact", b.run("document.querySelector('#verdict').textContent"))
        self.assertEqual(self.names()[0], "(Intercept)")
        self.assertEqual(len(self.names()), 9)
        if self.charts():
            # Charts are drawn when they come near the screen.
            b.run("document.getElementById('parameters').scrollIntoView({behavior: 'instant'})")
            b.wait("document.querySelectorAll('#cards .chart canvas').length >= 3")
            b.run("document.getElementById('pairs').scrollIntoView({behavior: 'instant'})")
            b.wait("document.querySelectorAll('#pairs canvas').length >= 1")
        else:
            self.assertGreater(b.run("document.querySelectorAll('#cards svg').length"), 0)
        self.assertEqual(b.problems, [])
        self.assertEqual([url for url in b.requests if not url.startswith("file://")], [])

    def test_the_table_is_sorted_and_searched(self):
        b = self.browser
        model = self.names()
        head = "[...document.querySelectorAll('#table th button')].find(b => b.textContent === 'mean')"
        means = ("[...document.querySelectorAll('#table tbody tr')].map(r => Number(r.cells[1].textContent.replaceAll(',', '')))")
        b.click(head)
        up = b.run(means)
        self.assertEqual(up, sorted(up))
        self.assertEqual(b.run("document.querySelectorAll('[aria-sort=ascending]').length"), 1)
        b.click(head)
        self.assertEqual(b.run(means), up[::-1])
        b.click(head)
        self.assertEqual(self.names(), model)
        b.click("document.getElementById('table-search')")
        b.type("POLY(X1, 7)3")
        self.assertEqual(self.names(), ["poly(x1, 7)3"])
        self.assertEqual(b.run("document.getElementById('table-count').textContent"), "1 of 9 parameters")
        self.assertEqual(b.problems, [])

    def test_traces_are_zoomed_by_mouse_and_keyboard(self):
        b = self.browser
        if not self.charts():
            self.skipTest("uPlot is not part of this build")
        b.run("document.getElementById('parameters').scrollIntoView({behavior: 'instant'})")
        b.wait("document.querySelector('#cards .trace')?.plot !== undefined")
        trace = "document.querySelector('#cards .trace')"
        scale = f"(s => [s.min, s.max])({trace}.plot.scales.x)"
        self.assertEqual(b.run(scale), [1, 1000])
        box = b.run(f"(r => [r.left, r.top, r.width, r.height])({trace}.querySelector('.u-over').getBoundingClientRect())")
        middle = box[1] + box[3] / 2
        b.drag(box[0] + box[2] * 0.25, middle, box[0] + box[2] * 0.5, middle)
        b.wait(f"{trace}.plot.scales.x.max < 600")
        low, high = b.run(scale)
        self.assertLess(abs(low - 250), 25)
        self.assertLess(abs(high - 500), 25)
        b.run(f"{trace}.focus()")
        b.key("+")
        b.wait(f"{trace}.plot.scales.x.min > {low + 30}")
        b.key("0")
        b.wait(f"{trace}.plot.scales.x.max === 1000")
        # The cards are searched, ordered and leafed through.
        title = "document.querySelector('#cards h3 span').textContent"
        self.assertEqual(b.run("document.querySelectorAll('#cards .card').length"), 6)
        b.click("document.getElementById('cards-next')")
        self.assertEqual(b.run("document.getElementById('cards-count').textContent"), "7 to 9 of 9")
        b.click("document.getElementById('cards-search')")
        b.type("x2")
        self.assertEqual(b.run(title), "x2")
        b.click("[...document.querySelectorAll('#table tbody a')][3]")
        self.assertEqual(b.run(title), "poly(x1, 7)3")
        self.assertEqual(b.problems, [])

    def test_without_the_library_and_without_scripts_the_pictures_are_still(self):
        # As a build without uPlot makes the page; where there is none anyway, this is the page itself.
        page = self.read("run", "report.html").decode()
        scripts = [match for match in re.finditer(r"<script>.*?</script>", page, re.S) if "uPlot=" in match[0]]
        for match in reversed(scripts):
            page = page[:match.start()] + page[match.end():]
        b = self.browser
        pictures = "document.querySelectorAll('#cards svg.plot, #pairs svg.plot').length"
        b.open(self.path(self.write("still.html", page)))
        self.assertFalse(self.charts())
        self.assertEqual(b.run(pictures), 4)  # densities, traces, ranks, pairs
        self.assertEqual(b.run("document.getElementById('cards-search').closest('p').hidden"), True)
        self.assertEqual(b.run("document.querySelectorAll('#table th button').length"), 9)
        b.call("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(b.call, "Emulation.setScriptExecutionDisabled", value=False)
        b.open(self.path("run", "report.html"))
        self.assertEqual(b.run(pictures), 4)
        self.assertEqual(len(self.names()), 9)
        self.assertEqual(b.problems, [])

    def test_it_is_dark_where_the_reader_wants_it(self):
        b = self.browser

        def brightness(what):
            red, green, blue = map(int, re.findall(r"\d+", b.run(f"getComputedStyle({what}).backgroundColor"))[:3])
            return red + green + blue

        self.assertGreater(brightness("document.body"), 600)
        b.scheme("dark")
        self.assertLess(brightness("document.body"), 200)
        self.assertLess(brightness("document.querySelector('section')"), 200)
        b.scheme("light")
        b.click("document.getElementById('theme')")
        b.click("document.getElementById('theme')")
        self.assertLess(brightness("document.body"), 200)
        self.assertEqual(b.problems, [])

    def test_it_fits_on_a_phone_and_on_paper(self):
        b = self.browser
        b.size(400, 800, mobile=True)
        b.open(self.path("run", "report.html"))
        self.assertEqual(b.run("document.documentElement.scrollWidth"), 400)
        for section in b.run("[...document.querySelectorAll('main > section')].map(s => s.id)"):
            b.run(f"document.getElementById('{section}').scrollIntoView({{behavior: 'instant'}})")
            self.assertLessEqual(b.run(f"document.getElementById('{section}').getBoundingClientRect().right"), 400, section)
        self.assertEqual(b.run("document.documentElement.scrollWidth"), 400)
        b.pdf(self.path("report.pdf"))
        self.assertEqual(self.read("report.pdf")[:5], b"%PDF-")
        # Chromium repeats the head of a table on every page, but not the boxes of buttons in it.
        b.scheme("light", "print")
        self.assertEqual(b.run("[...new Set([...document.querySelectorAll('#table thead button')]"
                               ".map(e => getComputedStyle(e).display))]"), ["contents"])
        self.assertEqual(b.problems, [])

    def test_names_of_classes_and_terms_are_broken_between_words(self):
        classes, soils = ("Lodgepole_pine", "Spruce/fir", "Krummholz"), ("sandy", "rocky outcrop")
        rows = [f"{classes[k % 3]},{(k * 37 % 101) / 101},{soils[k * 7 % 11 % 2]}" for k in range(300)]
        self.write("covers.csv", "cover,Horizontal_Distance_To_Roadways,soil\n" + "\n".join(rows) + "\n")
        self.good("fit", "covers.csv", "cover ~ Horizontal_Distance_To_Roadways + soil", "--family", "softmax", "--seed", "5",
                  "--quiet", "--out", "covers", "--report")
        b = self.browser
        b.size(1200, 900)
        b.open(self.path("covers", "report.html"))
        # A text node is a part of a name up to a colon or an underscore, or words with blanks, where it may be broken too.
        broken = b.run(
            "[...document.querySelectorAll('#table tbody th')].flatMap(th => [...th.querySelector('a, :scope').childNodes])"
            ".filter(node => { const r = document.createRange(); r.selectNodeContents(node);"
            " return node.nodeType === 3 && !node.data.includes(' ') && r.getClientRects().length > 1; }).map(n => n.data)")
        self.assertEqual(broken, [])
        self.assertEqual(self.names()[1], "Lodgepole_pine:Horizontal_Distance_To_Roadways")
        # All columns are seen without scrolling.
        self.assertEqual(b.run("(e => e.scrollWidth - e.clientWidth)(document.querySelector('.scroll.table'))"), 0)
        self.assertEqual(b.problems, [])

    def test_small_numbers_do_not_push_columns_off_the_page(self):
        # Below 0.0001 per mile, beside levels with long numbers of their own.
        rows = [f"{int((k * 31 % 97) / 97 < 0.2 + 0.00001 * (k * 523 % 5000))},{k * 523 % 5000},{'abc'[k % 3]}{'xyz'[k // 3 % 3]}"
                for k in range(3000)]
        self.write("flights.csv", "late,distance,origin\n" + "\n".join(rows) + "\n")
        self.good("fit", "flights.csv", "late ~ distance + origin", "--seed", "5", "--quiet", "--out", "flights", "--report")
        b = self.browser
        b.open(self.path("flights", "report.html"))
        self.assertRegex(b.run("document.querySelector('#table tbody tr:nth-child(2) td').textContent"), r"^\d[.]\d\de-05$")
        self.assertEqual(b.run("(e => e.scrollWidth - e.clientWidth)(document.querySelector('.scroll.table'))"), 0)

    def test_every_picture_and_control_has_a_name(self):
        b = self.browser
        nameless = b.run(
            "[...document.querySelectorAll('svg, [role=img], [role=group], button, input, select')].filter(e => "
            "!e.closest('[aria-hidden=true]') && !e.parentElement.closest('svg[aria-label]') && !e.getAttribute('aria-label') && !e.textContent.trim() && !e.labels?.length)"
            ".map(e => e.outerHTML.slice(0, 80))")
        self.assertEqual(nameless, [])
        # By keyboard: the first stop leads past the header.
        b.key("Tab")
        self.assertIn(b.run("document.activeElement.className"), ("skip", ""))


if __name__ == "__main__":
    unittest.main()
