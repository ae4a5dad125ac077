import { getTenant } from '@svc/contract/tenants.ts';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { SettingsForm } from './settings-form.tsx';

export default function SettingsTab() {
  const { id } = useTenant();
  const answer = useAnswer(getTenant, { params: { tenantID: id } });
  return (
    <AnswerView answer={answer}>{(tenant) => <SettingsForm key={tenant.id} tenant={tenant} />}</AnswerView>
  );
}
