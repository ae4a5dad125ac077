import { useEffect, useState } from 'react';
import type { User } from '../svc-sdk/main.ts';
import { Notes } from './Notes.tsx';
import { settings } from './settings.ts';
import { signIn } from './svc.ts';

export function App() {
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

  return (
    <div className="page">
      <header>
        <a className="brand" href="/">
          <img src="/icon.svg" alt="" width="28" height="28" />
          {settings.app}
        </a>
        {user ? (
          <span className="who">
            {user.email}
            <button type="button" className="quiet" onClick={() => void signIn.signOut()}>
              Sign out
            </button>
          </span>
        ) : null}
      </header>
      <main>
        <h1>It runs.</h1>
        <p className="lead">
          This page is yours: edit <code>src/App.tsx</code>, push, and the change is live.
        </p>
        {problem ? <p role="alert">{problem}</p> : null}
        {isReady && !user ? (
          <section className="card">
            <h2>Notes</h2>
            <p>Sign in to keep notes in the app's own table. Everyone sees only their own.</p>
            <button type="button" onClick={() => void signIn.signIn()}>
              Sign in
            </button>
          </section>
        ) : null}
        {user ? <Notes /> : null}
      </main>
    </div>
  );
}
