export interface FailedTest {
  /** As `testFiles` gives it. */
  file: string;
  name: string;
  text: string;
}

const linesMax = 40;

export function failedTests(report: string): FailedTest[] {
  const failed: FailedTest[] = [];
  let file = '';
  let said: string[] = [];
  const note = (test: string) => {
    failed.push({
      file: `./${file}`,
      name: `${file} > ${test}`,
      text: said.slice(-linesMax).join('\n').trim(),
    });
    said = [];
  };
  for (const line of report.split('\n')) {
    if (/^\d+ tests? failed:$/.test(line)) break;
    const begun = /^(\S+\.(?:test|proof)\.tsx?):$/.exec(line)?.[1];
    const ended = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line);
    if (begun) file = begun;
    if (ended?.[1] === 'fail' && ended[2]) note(ended[2]);
    else if (isRule(line) && said.some(isRule)) note('(between tests)');
    else if (begun || ended) said = [];
    else said.push(line);
  }
  return failed;
}

function isRule(line: string): boolean {
  return /^-{20,}$/.test(line);
}
