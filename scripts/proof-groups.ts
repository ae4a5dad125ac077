/** Longer proofs start first, so that none of them runs alone at the end. */
const longMs = 100_000;
const groupMsMax = 200_000;

/** The first files that fit in the time of all lanes together, and the others, which run if time is left. */
export function inTime(files: readonly string[], expectedMs: (file: string) => number, laneMs: number) {
  let leftMs = laneMs;
  const { first = [], later = [] } = Object.groupBy(files, (file) => {
    if (expectedMs(file) > leftMs) return 'later';
    leftMs -= expectedMs(file);
    return 'first';
  });
  return { first, later };
}

/**
 * The files of each process, in the order in which the processes start. Short proofs share one, because its servers
 * take seconds to start. The last processes have fewer files, so that all lanes end at about the same time.
 */
export function proofGroups(
  files: readonly string[],
  expectedMs: (file: string) => number,
  lanes: number,
): string[][] {
  const isLong = (file: string) => expectedMs(file) > longMs;
  const groups = files
    .filter(isLong)
    .toSorted((a, b) => expectedMs(b) - expectedMs(a))
    .map((file) => [file]);
  const short = files.filter((file) => !isLong(file));
  let leftMs = short.reduce((sum, file) => sum + expectedMs(file), 0);
  let roomMs = 0;
  for (const file of short) {
    const ms = expectedMs(file);
    if (ms > roomMs) {
      groups.push([]);
      roomMs = Math.min(groupMsMax, leftMs / lanes);
    }
    groups.at(-1)?.push(file);
    roomMs -= ms;
    leftMs -= ms;
  }
  return groups;
}
