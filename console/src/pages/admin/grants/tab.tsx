import { useParams } from 'wouter';
import { GrantList } from './grant-list.tsx';
import { GrantView } from './grant-view.tsx';
import { NewGrant } from './new-grant.tsx';

export default function GrantsTab() {
  const { part } = useParams<{ part?: string }>();
  if (part === undefined) return <GrantList />;
  return part === 'new' ? <NewGrant /> : <GrantView key={part} id={part} />;
}
