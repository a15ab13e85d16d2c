# Copyright (c) the mlo authors. BSD-3-Clause.
"""What the documentation says is run, and what the stubs say is there."""
import ast
import doctest
import inspect
import os
import pydoc
import sys
import unittest

from support import SOURCE, PlaceTest, absent, needs

import mlo
from mlo import _fit, _model, _options, _tools


class Docs(PlaceTest):
    def run_doctest(self, test):
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test)
        self.assertEqual(runner.failures, 0, test.name)
        return runner.tries

    def test_examples_in_docstrings(self):
        needs("pandas")
        finder, count = doctest.DocTestFinder(), 0
        for module in (mlo, _fit, _model, _tools):
            for test in finder.find(module, module.__name__):
                if test.examples:
                    count += self.run_doctest(test)
        for thing in (mlo.Fit, mlo.fit, mlo.load, mlo.Model, mlo.Kernel, mlo.describe, mlo.simulate, mlo.methods):
            for test in finder.find(thing, thing.__name__, module=False):
                if test.examples:
                    count += self.run_doctest(test)
        self.assertGreater(count, 20)

    def test_the_page_on_python(self):
        needs("pandas")
        needs("matplotlib")
        with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
            text = file.read()
        before = os.getcwd()
        os.chdir(self.place)
        self.addCleanup(os.chdir, before)
        os.symlink(os.path.join(SOURCE, "examples"), "examples")
        test = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", "docs/python.md", 0)
        self.assertGreater(len(test.examples), 20)
        self.run_doctest(test)

    def test_help_lists_every_option_with_its_default(self):
        text = pydoc.render_doc(mlo.fit, renderer=pydoc.plaintext)
        for name, row in _options.OPTIONS.items():
            self.assertRegex(text, rf"(?m)^ +{name} : ")
        self.assertIn('family : str, default "logistic"', text)
        self.assertIn("chains : int, default 4", text)
        self.assertNotIn("{options}", text)
        self.assertNotRegex(text, r"--[a-z]")

    def test_every_public_name_has_a_docstring(self):
        for name in mlo.__all__:
            self.assertTrue(inspect.getdoc(getattr(mlo, name)), name)
        for kind in (mlo.Fit, mlo.Kernel):
            for name, member in vars(kind).items():
                if not name.startswith("_") and name not in ("keys", "title", "seed", "formula", "family"):
                    self.assertTrue(inspect.getdoc(member), f"{kind.__name__}.{name}")

    def test_options_are_named_as_python_writes_them(self):
        listed = [f"{row['response']} {row['parameters']}" for row in mlo._core.families()]
        for text in (inspect.getdoc(mlo.fit), *listed):
            for name in ("prior-for", "known-sigma", "known-mean"):
                self.assertNotIn(name, text)

    def test_stubs_are_those_of_the_table(self):
        sys.path.append(os.path.join(SOURCE, "python"))
        import make_stubs
        with open(os.path.join(SOURCE, "python", "mlo", "__init__.pyi"), encoding="utf-8") as file:
            self.assertEqual(file.read(), make_stubs.stub(), "run python/make_stubs.py")

    def test_stubs_have_every_public_name_and_member(self):
        with open(os.path.join(SOURCE, "python", "mlo", "__init__.pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        defined = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        for name in mlo.__all__:
            self.assertIn(name, defined)
            thing = getattr(mlo, name)
            if not inspect.isclass(thing) or issubclass(thing, Exception):
                continue
            members = {node.name for node in defined[name].body if isinstance(node, ast.FunctionDef)}
            members |= {node.target.id for node in defined[name].body if isinstance(node, ast.AnnAssign)}
            self.assertLessEqual({m for m in vars(thing) if not m.startswith("_")}, members)

    def test_the_notebook_runs(self):
        needs("pandas")
        needs("matplotlib")
        try:
            import nbconvert.preprocessors
            import nbformat
            import ipykernel  # noqa: F401
        except ImportError:
            absent("jupyter's nbconvert")
        path = os.path.join(SOURCE, "examples", "notebook", "people.ipynb")
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                self.assertEqual(cell.outputs, [], "the notebook is kept without outputs")
        run = nbconvert.preprocessors.ExecutePreprocessor(timeout=300, kernel_name="python3")
        run.preprocess(notebook, {"metadata": {"path": os.path.dirname(path)}})
        kinds = {kind for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                 for kind in output.get("data", {})}
        self.assertLessEqual({"text/html", "image/png"}, kinds)
        problems = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                    if output.output_type == "error" or output.get("name") == "stderr"]
        self.assertEqual(problems, [])


if __name__ == "__main__":
    unittest.main()
