"""The page of the debate says what fresh runs in the simulator say."""
import subprocess
import sys

from common import PICKLOCK, ROOT, Command, main


class Debate(Command):
    def test_the_page_and_its_scenarios_are_what_fresh_runs_make_of_them(self):
        done = subprocess.run([sys.executable, str(ROOT / "tools/debate/debate.py"), PICKLOCK, "--check"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
