import { getSite } from '@svc/contract/static-sites.ts';
import { useParams } from 'wouter';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { ReleasePage } from './release-page.tsx';
import { SitePage } from './site-page.tsx';

/** The site of an app: what visitors see, what is staged, and every release there was. */
export default function ReleasesTab() {
  const { why } = useApp();
  const { part } = useParams<{ part?: string }>();
  return (
    <OnlyFor why={why(getSite)} what="the releases of this app">
      {part === undefined ? <SitePage /> : <ReleasePage key={part} id={part} />}
    </OnlyFor>
  );
}
