export interface FailedTest {
  /** `<file> > <test>` */
  name: string;
  /** The last lines of what was said between the test before and this one. */
  text: string;
}

const linesMax = 40;

/** From what `bun test` prints, without its colours: which tests failed, and what was said of each. */
export function failedTests(report: string): FailedTest[] {
  const failed: FailedTest[] = [];
  let file = '';
  let said: string[] = [];
  const note = (test: string) => {
    failed.push({ name: `${file} > ${test}`, text: said.slice(-linesMax).join('\n').trim() });
    said = [];
  };
  for (const line of report.split('\n')) {
    // All of them are named once more behind the last one.
    if (/^\d+ tests? failed:$/.test(line)) break;
    const begun = /^(\S+\.(?:test|slow)\.tsx?):$/.exec(line)?.[1];
    const ended = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line);
    if (begun) file = begun;
    if (ended?.[1] === 'fail' && ended[2]) note(ended[2]);
    else if (isRule(line) && said.some(isRule)) note('(between tests)');
    else if (begun || ended) said = [];
    else said.push(line);
  }
  return failed;
}

/** Stands above and below what was thrown outside of any test. */
function isRule(line: string): boolean {
  return /^-{20,}$/.test(line);
}
