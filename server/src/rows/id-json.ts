/** As the row's own JSON shows it. */
export function idJson(type: string, id: string | null): string | number | null {
  if (id === null || (type !== 'int' && type !== 'bigint')) return id;
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}
