#!/usr/bin/env python3
"""The gate's files in the tools that run them: schemas, actionlint, the action really run by act, the job's own
script, the hook in a repository. `pipelines.py ./picklock`, from `make gate-test`; nothing here needs a network."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
TOOLS = ROOT / "build" / "tools"


def tool(name):
    """A tool of a package registry, or a reason to skip."""
    for place in (TOOLS / "bin" / name, TOOLS / "venv" / "bin" / name):
        if place.exists():
            return place
    raise unittest.SkipTest(f"{name} is missing: its registry could not be reached when `make gate-test` began")


class Pipeline(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-pipeline-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_here(self, *command, code=0, cwd=None, env=None, **options):
        done = subprocess.run([str(word) for word in command], cwd=cwd or self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600, env={**os.environ, **(env or {})}, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def git(self, *words, cwd=None):
        return self.run_here("git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org",
                             "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words, cwd=cwd)

    def broken(self, folder):
        text = (ROOT / "scenarios" / "wrong" / "no-recheck.yaml").read_text()
        (folder / "no-recheck.yaml").write_text(re.sub(r"^expect:.*", "expect: {section_exclusion: pass}\n", text, flags=re.S | re.M))


class Schemas(Pipeline):
    def both_ways(self, schema, path, misspelt):
        """Valid as it is, and not with one word misspelt: else the check would say nothing."""
        checker = tool("check-jsonschema")
        self.run_here(checker, "--builtin-schema", schema, path)
        wrong = self.folder / path.name
        self.assertIn(misspelt[0], path.read_text())
        wrong.write_text(path.read_text().replace(*misspelt, 1))
        self.run_here(checker, "--builtin-schema", schema, wrong, code=1)

    def test_the_action(self):
        self.both_ways("vendor.github-actions", ROOT / "action.yml", ("using: composite", "using: compsite"))

    def test_the_containers(self):
        """By the specification that compose 2 follows; `make compose-test` runs them with 1.29."""
        self.both_ways("vendor.compose-spec", ROOT / "docker-compose.yml", ("read_only: true", "read_onyl: true"))

    def test_the_workflow(self):
        self.both_ways("vendor.github-workflows", DEPLOY / "github-workflow.yml", ("runs-on:", "run-on:"))

    def test_the_job(self):
        self.both_ways("vendor.gitlab-ci", DEPLOY / "gitlab-ci.yml", ("when: always", "when: allways"))

    def test_the_yaml_is_well_laid_out(self):
        rules = "{extends: default, rules: {line-length: {max: 130}, document-start: disable, truthy: disable, braces: {max-spaces-inside: 1}, comments: {min-spaces-from-content: 1}}}"
        for path in (ROOT / "action.yml", *sorted(DEPLOY.glob("*.y*ml"))):
            self.run_here(tool("yamllint"), "--strict", "-d", rules, path)


class Workflow(Pipeline):
    """A stranger's repository that uses the action, as GitHub would run it."""

    def repository(self, with_lines):
        """The action's own repository, so that `uses: ./` finds it, with a picklock that is built."""
        files = subprocess.run(["git", "ls-files", "action.yml", "deploy", "scenarios"], cwd=ROOT, text=True,
                               capture_output=True).stdout.split() or \
            ["action.yml", *[str(path.relative_to(ROOT)) for path in [*DEPLOY.iterdir(), *(ROOT / "scenarios").rglob("*.yaml")]]]
        for name in files:
            (self.folder / "repository" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / "repository" / name)
        repository = self.folder / "repository"
        os.symlink(PICKLOCK, repository / "picklock")
        workflow = (DEPLOY / "github-workflow.yml").read_text()
        budget = next(line for line in workflow.splitlines() if line.strip().startswith("budget:"))
        workflow = workflow.replace(budget, f"{budget}\n          set-up: \"false\"\n" + with_lines)
        self.assertIn("uses: OWNER/picklock@VERSION", workflow)
        workflow = workflow.replace("OWNER/picklock@VERSION", "./")
        (repository / ".github" / "workflows").mkdir(parents=True)
        (repository / ".github" / "workflows" / "locks.yml").write_text(workflow)
        return repository

    def commit(self, repository):
        self.git("init", "-q", cwd=repository)
        self.git("add", "-A", cwd=repository)
        self.git("commit", "-qm", "all", cwd=repository)

    def test_actionlint_finds_nothing_and_a_wrong_input(self):
        repository = self.repository("")
        self.commit(repository)
        lint = tool("actionlint")
        self.run_here(lint, "-no-color", cwd=repository)
        path = repository / ".github" / "workflows" / "locks.yml"
        path.write_text(path.read_text().replace("scenarios: scenarios", "scenrios: scenarios"))
        self.assertIn("scenrios", self.run_here(lint, "-no-color", cwd=repository, code=1))

    def act(self, repository, code):
        stand_in = self.folder / "upload-artifact"
        stand_in.mkdir()
        (stand_in / "action.yml").write_text(
            "name: stand-in\ndescription: keeps what it is given\ninputs: {name: {}, path: {}, if-no-files-found: {}}\n"
            "runs:\n  using: composite\n  steps:\n"
            f"    - {{shell: bash, env: {{FROM: '${{{{ inputs.path }}}}'}}, run: 'bash {self.folder}/keep'}}\n")
        # Its first line is a folder, whose links it follows; the others are names in it that it leaves out.
        (self.folder / "keep").write_text('{ read -r from; cp -RL "$from" "%s"; while IFS=/ read -r not _ name; do\n'
                                          '[ -z "$not" ] || find "%s" -depth -name "$name" -exec rm -r {} +; done; } <<<"$FROM"\n'
                                          % (self.folder / "artifact", self.folder / "artifact"))
        self.git("init", "-q", cwd=stand_in)
        self.git("add", "-A", cwd=stand_in)
        self.git("commit", "-qm", "all", cwd=stand_in)
        self.commit(repository)
        return self.run_here(tool("act"), "push", "-P", "ubuntu-latest=-self-hosted", "--local-repository",
                             f"actions/upload-artifact@v4={stand_in}", "--artifact-server-addr", "127.0.0.1", "--rm",
                             cwd=repository, code=code, env={"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")})

    def test_act_runs_the_action_and_a_right_lock_passes(self):
        tool("act")
        repository = self.repository("          world: sim\n")
        workflow = repository / ".github/workflows/locks.yml"
        workflow.write_text(workflow.read_text().replace("scenarios: scenarios", "scenarios: scenarios/alone.yaml scenarios/random/anything.yaml "
                                     "scenarios/random/fenced.yaml scenarios/random/network.yaml scenarios/random/pauses.yaml")
                            .replace("120s", "3s"))
        said = self.act(repository, 0)
        self.assertIn("5 as expected", said)
        self.assertIn("picklock ended with 0", said)
        lines = (self.folder / "artifact" / "results.jsonl").read_text().splitlines()
        commit = self.git("rev-parse", "HEAD", cwd=repository).strip()
        self.assertEqual(json.loads(lines[0])["seed"], int(commit[:16], 16))
        self.assertEqual(xml.parse(self.folder / "artifact" / "junit.xml").getroot().get("failures"), "0")

    def test_act_runs_the_action_and_a_wrong_lock_fails_the_job(self):
        tool("act")
        repository = self.repository("          world: sim\n")
        self.broken(repository)
        workflow = repository / ".github/workflows/locks.yml"
        workflow.write_text(workflow.read_text().replace("scenarios: scenarios", "scenarios: no-recheck.yaml").replace("120s", ""))
        said = self.act(repository, 1)
        self.assertIn("picklock ended with 1", said)
        self.assertIn("section_exclusion", said)
        kept = [path.relative_to(self.folder / "artifact") for path in (self.folder / "artifact").rglob("report.html")]
        self.assertEqual([path for path in kept if "latest" in path.parts], [], "each page is in the artefact once")
        self.assertTrue([path for path in kept if path.match("no-recheck/*/sim/report.html")], "the page is in the artefact")


class Job(Pipeline):
    def script(self):
        """What the runner of the job does, with the set-up left out."""
        text = (DEPLOY / "gitlab-ci.yml").read_text()
        lines = re.search(r"  script:\n((?:    - .*\n)+)", text)[1]
        return "\n".join(line.strip().removeprefix("- ") for line in lines.splitlines())

    def test_its_script_leaves_the_junit_file_where_the_job_says(self):
        source = self.folder / "picklock-source"
        source.mkdir()
        os.symlink(DEPLOY, source / "deploy")
        os.symlink(PICKLOCK, source / "picklock")
        self.broken(self.folder)
        variables = {"PICKLOCK_BUDGET": "2s", "PICKLOCK_SEED": "c14d85e0aa3ddf1a0c3f", "PICKLOCK_OUT": "picklock-out",
                     "PICKLOCK_WORLD": "sim", "PICKLOCK_SCENARIOS": "no-recheck.yaml"}
        self.run_here("bash", "-c", self.script(), env=variables, code=1)
        path = re.search(r"junit: (\S+)", (DEPLOY / "gitlab-ci.yml").read_text())[1]
        self.assertEqual(xml.parse(self.folder / path).getroot().get("failures"), "1")


class Hook(Pipeline):
    def setUp(self):
        super().setUp()
        self.origin = self.folder / "origin.git"
        self.work = self.folder / "work"
        self.git("init", "-q", "--bare", self.origin)
        self.git("clone", "-q", self.origin, self.work)
        shutil.copy(DEPLOY / "pre-push", self.work / ".git" / "hooks" / "pre-push")
        (self.work / "locks").mkdir()
        shutil.copy(ROOT / "scenarios" / "alone.yaml", self.work / "locks")
        self.environment = {"PICKLOCK": PICKLOCK, "PICKLOCK_SCENARIOS": "locks", "PICKLOCK_BUDGET": "1s"}

    def commit(self):
        self.git("add", "-A", cwd=self.work)
        self.git("commit", "-qm", "more", cwd=self.work)

    def push(self, code):
        return self.run_here("git", "push", "origin", "HEAD:main", cwd=self.work, code=code, env=self.environment)

    def test_a_wrong_lock_is_not_pushed(self):
        self.commit()
        self.assertIn("1 as expected", self.push(0))
        self.broken(self.work / "locks")
        self.commit()
        self.assertIn("section_exclusion", self.push(1))
        pushed = self.git("rev-list", "--count", "main", cwd=self.origin).strip()
        self.assertEqual(pushed, "1")
        self.run_here("git", "push", "--no-verify", "origin", "HEAD:main", cwd=self.work, env=self.environment)

    def test_where_there_is_no_picklock_nobody_is_held_up(self):
        self.commit()
        self.environment["PICKLOCK"] = str(self.folder / "nowhere")
        self.assertIn("nothing was checked", self.push(0))


if __name__ == "__main__":
    outcome = unittest.main(verbosity=1, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    for test, reason in outcome.skipped:
        print(f"skipped: {test}: {reason}")
    skipped = f", {len(outcome.skipped)} skipped" if outcome.skipped else ""
    print(f"{outcome.testsRun - failed - len(outcome.skipped)} passed, {failed} failed{skipped}")
    sys.exit(1 if failed or not outcome.testsRun else 0)
