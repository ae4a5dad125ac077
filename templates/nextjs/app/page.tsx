import { headers } from 'next/headers';
import { userOf } from '../svc-sdk/server-user.ts';
import { Account } from './account.tsx';
import { settings } from './settings.ts';

/** Rendered for each visit: the platform says who looks, and signs what it says. */
export default async function Page() {
  const visitor = await userOf(await headers(), { appId: settings.appId });
  return (
    <>
      <header>
        <a className="brand" href="/">
          <img src="/icon.svg" alt="" width="28" height="28" />
          {settings.app}
        </a>
        {visitor ? <span className="who">{visitor.email}</span> : null}
      </header>
      <main>
        <h1>It runs.</h1>
        <p className="lead">
          Rendered on the server at {new Date().toISOString().slice(11, 19)}
          {visitor ? <> for {visitor.name || visitor.email}</> : null}. Edit <code>app/page.tsx</code>, push, and the
          change is live.
        </p>
        <Account />
      </main>
    </>
  );
}
