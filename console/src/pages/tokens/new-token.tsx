import {
  Button,
  Checkbox,
  Group,
  MultiSelect,
  NumberInput,
  Paper,
  Stack,
  TextInput,
  Title,
} from '@mantine/core';
import { listMyApps } from '@svc/contract/app-lists.ts';
import {
  createPat,
  patActions,
  patLifeDaysDefault,
  patLifeDaysMax,
  patNameCharsMax,
} from '@svc/contract/identity.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { BusyButton } from '../../parts/busy-button.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { useFormFocus } from '../../parts/use-form-focus.ts';

type PatAction = (typeof patActions)[number];

export function NewToken({ close, onCreated }: { close: () => void; onCreated: (secret: string) => void }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const form = useFormFocus('new-token');
  const apps = useAnswer(listMyApps, { params, query: { per_page: perPageMax } }).data?.items ?? [];
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string[]>([]);
  const [actions, setActions] = useState<string[]>(['read']);
  const [days, setDays] = useState<number>(patLifeDaysDefault);
  const [isTried, setTried] = useState(false);
  const change = useChange(createPat, {
    title: 'Create a token',
    verb: 'Create',
    done: 'The token is created.',
    onDone: ({ secret }) => onCreated(secret),
  });
  const faults = {
    name: name.trim() === '' ? 'must not be empty' : undefined,
    actions: actions.length === 0 ? 'must be read, write or both' : undefined,
    days: days >= 1 && days <= patLifeDaysMax ? undefined : `must be 1 to ${patLifeDaysMax}`,
  };

  function submit() {
    setTried(true);
    if (faults.name || faults.actions || faults.days) return;
    void change.propose({
      params,
      body: { name, apps: chosen, actions: actions as PatAction[], expires_in_days: days },
    });
  }

  return (
    <Paper withBorder p="lg" radius="md">
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Stack maw={640}>
          <Title order={2} size="h4">
            New token
          </Title>
          <TextInput
            label="Name"
            description="Tells you later where it is used."
            placeholder="CI of the booking app"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={(isTried && faults.name) || change.errorOf('name')}
            maxLength={patNameCharsMax}
            required
          />
          <MultiSelect
            label="Apps"
            description="Empty for every app whose tables you reach."
            data={apps.map((app) => ({ value: app.id, label: app.name }))}
            value={chosen}
            onChange={setChosen}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Clear apps' }}
            error={change.errorOf('apps')}
          />
          <Checkbox.Group
            label="Actions"
            value={actions}
            onChange={setActions}
            error={(isTried && faults.actions) || change.errorOf('actions')}
          >
            <Group mt="xs">
              {patActions.map((action) => (
                <Checkbox key={action} value={action} label={action} />
              ))}
            </Group>
          </Checkbox.Group>
          <NumberInput
            label="Days until it expires"
            description={`At most ${patLifeDaysMax}.`}
            value={days}
            onChange={(value) => setDays(typeof value === 'number' ? value : 0)}
            min={1}
            max={patLifeDaysMax}
            allowDecimal={false}
            clampBehavior="none"
            error={faults.days ?? change.errorOf('expires_in_days')}
            maw={220}
          />
          {change.problem !== null && <ProblemAlert error={change.problem} />}
          <Group>
            <BusyButton type="submit" loading={change.isBusy}>
              Create token
            </BusyButton>
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
