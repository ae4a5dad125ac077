import { useParams } from 'wouter';
import { AddMember } from './add-member.tsx';
import { MemberList } from './member-list.tsx';

export default function MembersTab() {
  const { part } = useParams<{ part?: string }>();
  return part === 'new' ? <AddMember /> : <MemberList />;
}
