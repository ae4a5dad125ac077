import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { type ChangeEvent, useState } from 'react';
import { type ChangeOptions, useChange } from '../change/use-change.ts';
import { applyDraft, conflictingFields, type Draft, updateDraft } from './form-draft.ts';

interface Field<V> {
  label: string;
  value: V;
  onChange: (input: unknown) => void;
  error: string | undefined;
  disabled: boolean | undefined;
}

export interface Fields<T> {
  values: T;
  set(part: Partial<T>): void;
  field<K extends keyof T & string>(name: K): Field<T[K]>;
  select<K extends keyof T & string>(name: K): Field<T[K] | null>;
  checkbox(name: keyof T & string): Omit<Field<never>, 'value'> & { checked: boolean };
}

export interface Form<T> extends Fields<T> {
  reset(): void;
  conflicts: (keyof T)[];
  error(name: string): string | undefined;
  submit(): Promise<boolean>;
  whyNot: string | null;
  isBusy: boolean;
  problem: unknown;
  clear(): void;
}

type FieldError = string | false | null | undefined;

interface FormOptions<S extends Shape, T> extends ChangeOptions<S> {
  input(values: T): Input<S>;
  errors?(values: T): Readonly<Record<string, FieldError>>;
  whyNot?(values: T): string | null;
  disabled?: boolean;
}

/** Edits overlay the newest record, so that a field without edits stays current while the form is open. */
export function useForm<S extends Shape, T extends object>(
  endpoint: Endpoint<S>,
  record: T,
  { input, errors, whyNot, disabled, onDone, ...options }: FormOptions<S, T>,
): Form<T> {
  const [draft, setDraft] = useState<Draft<T>>({});
  const [isSubmitted, setSubmitted] = useState(false);
  const reset = () => {
    setDraft({});
    setSubmitted(false);
  };
  const change = useChange(endpoint, {
    ...options,
    onDone: (answer: Answer<S>) => {
      reset();
      onDone?.(answer);
    },
  });
  const values = applyDraft(record, draft);
  const known = errors?.(values) ?? {};
  const why = whyNot?.(values) ?? null;
  const set = (part: Partial<T>) => setDraft((before) => updateDraft(record, before, part));
  const error = (name: string) => (isSubmitted && known[name]) || change.errorOf(name);
  return {
    ...createFields({ values, set, error, disabled }),
    reset,
    conflicts: conflictingFields(record, draft),
    error,
    submit: async () => {
      setSubmitted(true);
      if (why !== null || change.isBusy || Object.values(known).some(Boolean)) return false;
      return change.propose(input(values));
    },
    whyNot: why,
    isBusy: change.isBusy,
    problem: change.problem,
    clear: change.clear,
  };
}

/** For dialogs whose action has no preview: `useForm` needs an endpoint that can be planned. */
export function useFields<T extends object>(initial: T): Fields<T> {
  const [values, setValues] = useState(initial);
  const set = (part: Partial<T>) => setValues((before) => ({ ...before, ...part }));
  return createFields({ values, set, error: () => undefined });
}

interface FieldsSource<T> extends Pick<Fields<T>, 'values' | 'set'> {
  error(name: string): string | undefined;
  disabled?: boolean | undefined;
}

function createFields<T extends object>({ values, set, error, disabled }: FieldsSource<T>): Fields<T> {
  const field = <K extends keyof T & string>(name: K): Field<T[K]> => ({
    label: labelFor(name),
    value: values[name],
    onChange: (raw) => set({ [name]: coerce(inputValue(raw), values[name]) } as unknown as Partial<T>),
    error: error(name),
    disabled,
  });
  return {
    values,
    set,
    field,
    select: (name) => ({ ...field(name), value: values[name] === '' ? null : values[name] }),
    checkbox: (name) => {
      const { value, ...rest } = field(name);
      return { ...rest, checked: Boolean(value) };
    },
  };
}

export function itemFields<K extends string, Item extends object>(
  form: Pick<Form<Record<K, readonly Item[]>>, 'values' | 'set' | 'error'>,
  list: K,
  index: number,
): Fields<Item> {
  const items = form.values[list];
  const item = items[index] as Item;
  return createFields<Item>({
    values: item,
    set: (part) =>
      form.set({ [list]: items.with(index, { ...item, ...part }) } as unknown as Record<K, readonly Item[]>),
    error: (name) => form.error(`${list}.${index}.${name}`),
  });
}

function labelFor(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function inputValue(raw: unknown): unknown {
  if (typeof raw !== 'object' || raw === null || !('currentTarget' in raw)) return raw;
  const { currentTarget } = raw as ChangeEvent<HTMLInputElement>;
  return currentTarget.type === 'checkbox' ? currentTarget.checked : currentTarget.value;
}

/** A cleared `Select` passes null, and a `NumberInput` a text while it holds no number. */
function coerce(value: unknown, before: unknown): unknown {
  if (value === null && typeof before === 'string') return '';
  return typeof before === 'number' && typeof value !== 'number' ? 0 : value;
}

/** The fields of `after` that differ from `before`. Only these are sent, so that nothing else is overwritten. */
export function changedFields<T extends object>(before: T, after: T): Partial<T> {
  const changed: Partial<T> = {};
  for (const name of Object.keys(after) as (keyof T)[])
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) changed[name] = after[name];
  return changed;
}
