export type Draft<T> = { readonly [K in keyof T]?: { readonly value: T[K]; readonly before: T[K] } };

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

export function applyDraft<T extends object>(newest: T, draft: Draft<T>): T {
  const values = { ...newest };
  for (const name of draftFields(draft)) {
    const field = draft[name];
    if (field) values[name] = field.value;
  }
  return values;
}

export function updateDraft<T extends object>(newest: T, draft: Draft<T>, part: Partial<T>): Draft<T> {
  const next: { -readonly [K in keyof T]?: Draft<T>[K] } = { ...draft };
  for (const name of Object.keys(part) as (keyof T)[]) {
    const value = part[name] as T[typeof name];
    if (isSame(value, newest[name])) delete next[name];
    else next[name] = { value, before: draft[name] ? draft[name].before : newest[name] };
  }
  return next;
}

export function conflictingFields<T extends object>(newest: T, draft: Draft<T>): (keyof T)[] {
  return draftFields(draft).filter((name) => {
    const field = draft[name];
    return field && !isSame(field.before, newest[name]) && !isSame(field.value, newest[name]);
  });
}

const draftFields = <T extends object>(draft: Draft<T>) => Object.keys(draft) as (keyof T)[];
