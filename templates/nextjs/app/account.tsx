'use client';

import { useEffect, useState } from 'react';
import type { User } from '../svc-sdk/main.ts';
import { Notes } from './notes.tsx';
import { signIn } from './svc.ts';

/** The rows are read in the browser, as the person who signed in through the app. */
export function Account() {
  const [user, setUser] = useState<User | null>(null);
  const [isReady, setIsReady] = useState(false);
  const [problem, setProblem] = useState('');

  useEffect(() => {
    const stop = signIn.onChange(setUser);
    signIn
      .handleRedirect()
      .catch((error: unknown) => setProblem(String(error)))
      .finally(() => {
        setUser(signIn.getUser());
        setIsReady(true);
      });
    return stop;
  }, []);

  if (!isReady) return <section className="card" aria-busy="true" />;
  return (
    <>
      {problem ? <p role="alert">{problem}</p> : null}
      {user ? (
        <Notes />
      ) : (
        <section className="card">
          <h2>Notes</h2>
          <p>Sign in to keep notes in the app's own table. Everyone sees only their own.</p>
          <button type="button" onClick={() => void signIn.signIn()}>
            Sign in
          </button>
        </section>
      )}
    </>
  );
}
