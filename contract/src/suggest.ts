export function suggest(typed: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = distanceOf(typed.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best === null) return null;
  return bestDistance <= allowedDistance(typed.length, best.length) ? best : null;
}

function allowedDistance(typedChars: number, candidateChars: number): number {
  return Math.min(4, Math.max(1, Math.floor(Math.max(typedChars, candidateChars) / 3)));
}

/** Damerau-Levenshtein (adjacent swaps count one); the beginning of a longer word counts one. */
export function distanceOf(a: string, b: string): number {
  if (a === b) return 0;
  if (a.length >= 2 && b.startsWith(a)) return 1;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) row.push(cheapest(rows, row, a, b, i, j));
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? Number.POSITIVE_INFINITY;
}

function cheapest(rows: number[][], row: number[], a: string, b: string, i: number, j: number): number {
  const at = (line: number[] | undefined, column: number) => line?.[column] ?? Number.POSITIVE_INFINITY;
  const above = rows[i - 1];
  let cost = Math.min(
    at(above, j) + 1,
    at(row, j - 1) + 1,
    at(above, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
  );
  if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
    cost = Math.min(cost, at(rows[i - 2], j - 2) + 1);
  }
  return cost;
}
