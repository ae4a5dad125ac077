/** What was typed over a record, field by field, with what stood there when it was begun. */
export type Draft<T> = { readonly [K in keyof T]?: { readonly value: T[K]; readonly before: T[K] } };

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** The newest record with what was typed over it: a field that nobody touched is always the newest. */
export function drafted<T extends object>(newest: T, draft: Draft<T>): T {
  const shown = { ...newest };
  for (const name of fieldsOf(draft)) {
    const field = draft[name];
    if (field) shown[name] = field.value;
  }
  return shown;
}

/** The draft with some fields typed anew; what is again as the record has it is no draft any more. */
export function withFields<T extends object>(newest: T, draft: Draft<T>, part: Partial<T>): Draft<T> {
  const next: { -readonly [K in keyof T]?: Draft<T>[K] } = { ...draft };
  for (const name of Object.keys(part) as (keyof T)[]) {
    const value = part[name] as T[typeof name];
    if (isSame(value, newest[name])) delete next[name];
    else next[name] = { value, before: draft[name] ? draft[name].before : newest[name] };
  }
  return next;
}

/** Those fields of the draft that somebody else has changed since, to something else. */
export function changedBelow<T extends object>(newest: T, draft: Draft<T>): (keyof T)[] {
  return fieldsOf(draft).filter((name) => {
    const field = draft[name];
    return field && !isSame(field.before, newest[name]) && !isSame(field.value, newest[name]);
  });
}

const fieldsOf = <T extends object>(draft: Draft<T>) => Object.keys(draft) as (keyof T)[];
