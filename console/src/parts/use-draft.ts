import { useState } from 'react';
import { changedBelow, type Draft, drafted, withFields } from './draft-over.ts';

export interface DraftOf<T> {
  /** The newest record with what was typed over it. */
  shown: T;
  set(part: Partial<T>): void;
  /** Once it is saved. */
  drop(): void;
  /** Fields that were typed here and changed by somebody else meanwhile. */
  below: (keyof T)[];
}

/** What is typed into a form of a record. It outlives a newer record, of which only the fields not typed are taken. */
export function useDraft<T extends object>(newest: T): DraftOf<T> {
  const [draft, setDraft] = useState<Draft<T>>({});
  return {
    shown: drafted(newest, draft),
    set: (part) => setDraft((before) => withFields(newest, before, part)),
    drop: () => setDraft({}),
    below: changedBelow(newest, draft),
  };
}
