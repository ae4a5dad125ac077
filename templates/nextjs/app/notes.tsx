'use client';

import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { type Note, notes } from './svc.ts';

/** The rows of one table: read, added to, changed and deleted as the person who is signed in. */
export function Notes() {
  const [items, setItems] = useState<Note[] | null>(null);
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const lists = useRef(0);

  const attempt = useCallback(async (work: () => Promise<unknown>) => {
    setProblem('');
    try {
      await work();
      const own = ++lists.current;
      const { data } = await notes.sort('-pinned', '-created_at').perPage(50).list();
      // Answers can arrive out of order: an older list would hide a note that was added since.
      if (own === lists.current) setItems(data);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }, []);

  useEffect(() => void attempt(async () => {}), [attempt]);

  const add = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => {
      await notes.insert({ text });
      setText('');
    });
  };

  return (
    <section className="card">
      <h2>Notes</h2>
      <form onSubmit={add}>
        <input
          aria-label="New note"
          placeholder="Write something down"
          required
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit">Add</button>
      </form>
      {problem ? <p role="alert">{problem}</p> : null}
      {items?.length === 0 ? <p className="empty">Nothing yet. The first note is yours to write.</p> : null}
      <ul>
        {items?.map((note) => (
          <li key={note.id}>
            <button
              type="button"
              className="quiet"
              aria-pressed={note.pinned}
              aria-label={`Pin ${note.text}`}
              onClick={() => void attempt(() => notes.update(note.id, { pinned: !note.pinned }))}
            >
              {note.pinned ? '★' : '☆'}
            </button>
            <span>{note.text}</span>
            <button
              type="button"
              className="quiet"
              aria-label={`Delete ${note.text}`}
              onClick={() => void attempt(() => notes.delete(note.id))}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
