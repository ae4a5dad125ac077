/** Of a long list whose every entry is also looked at beside the code: every third here, all at full scale. */
export function someOf<T>(all: readonly T[]): T[] {
  return process.env.SVC_TEST_SCALE === 'full' ? [...all] : all.filter((_, at) => at % 3 === 0);
}
