import { createPreset, getPreset, updatePreset } from '@svc/contract/presets.ts';
import { useParams } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { adminPath } from '../admin-path.ts';
import { NoSuchThing } from '../no-such-thing.tsx';
import { useFormChange } from '../use-form-change.ts';
import { emptyPreset, PresetForm } from './preset-form.tsx';
import { PresetList } from './preset-list.tsx';

export default function PresetsTab() {
  const { part } = useParams<{ part?: string }>();
  if (part === undefined) return <PresetList />;
  return part === 'new' ? <NewPreset /> : <OnePreset id={part} />;
}

function NewPreset() {
  const tenant = useTenant();
  const change = useFormChange(createPreset, 'presets', {
    title: 'Create a preset',
    verb: 'Create',
    done: 'The preset is created.',
  });
  return (
    <PresetForm
      title="New preset"
      initial={emptyPreset}
      change={change}
      onSubmit={(body) => void change.propose({ params: { tenantID: tenant.id }, body })}
    />
  );
}

function OnePreset({ id }: { id: string }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, presetID: id };
  const answer = useAnswer(getPreset, { params });
  const change = useFormChange(updatePreset, 'presets', {
    title: 'Change a preset',
    verb: 'Save',
    done: 'The preset is changed; grants that use it changed with it.',
  });
  if (isCode(answer.error, 'not_found') || answer.data?.built_in) {
    const back = { to: adminPath(tenant.slug, 'presets'), label: 'All presets' };
    return (
      <NoSuchThing
        error={answer.error}
        what={answer.data ? 'preset to change: this one is built in' : 'preset'}
        back={back}
      />
    );
  }
  return (
    <AnswerView answer={answer}>
      {({ name, actions, description }) => (
        <PresetForm
          key={id}
          title={name}
          initial={{ name, actions, description }}
          change={change}
          onSubmit={(body) => void change.propose({ params, body })}
        />
      )}
    </AnswerView>
  );
}
