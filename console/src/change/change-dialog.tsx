import {
  Alert,
  Badge,
  Code,
  Group,
  List,
  Modal,
  Stack,
  Text,
  TextInput,
  VisuallyHidden,
} from '@mantine/core';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Plan, PlanChange } from '@svc/contract/plan.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { isCode } from '../api/client.ts';
import { BusyButton } from '../components/buttons.tsx';
import { DataTable } from '../components/data-table.tsx';
import { useRestoreFocus } from '../components/focus.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { Hint, Mono, SecondaryButton } from '../components/text.tsx';
import { isDestructive } from './plan.ts';

interface Proposal {
  title: string;
  verb?: string;
  plan: Plan;
  execute(fingerprint: string): Promise<void>;
  previewAgain(): Promise<Plan>;
}

const ProposeContext = createContext<(proposal: Proposal) => void>(() => {});
export const usePropose = () => useContext(ProposeContext);

export function ChangeDialogs({ children }: { children: ReactNode }) {
  const [proposal, setProposal] = useState<Proposal | null>(null);
  const propose = useCallback((next: Proposal) => setProposal(next), []);
  return (
    <ProposeContext.Provider value={propose}>
      {children}
      {proposal && (
        <ChangeDialog
          key={proposal.plan.fingerprint}
          proposal={proposal}
          // A change may open the next dialog, which must stay open.
          close={() => setProposal((now) => (now === proposal ? null : now))}
        />
      )}
    </ProposeContext.Provider>
  );
}

function ChangeDialog({ proposal, close }: { proposal: Proposal; close: () => void }) {
  useRestoreFocus();
  const queries = useQueryClient();
  const [plan, setPlan] = useState(proposal.plan);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [isStale, setStale] = useState(false);
  const [typed, setTyped] = useState('');
  const name = uuidPattern.test(plan.target.name) ? '' : plan.target.name;
  const verb = proposal.verb ?? (proposal.title.split(' ')[0] as string);
  const word = name || verb;
  // A repeated Enter must not confirm a destructive change.
  const isCareful = isDestructive(plan);
  const isConfirmed = !plan.irreversible || typed === word;

  async function confirm() {
    setBusy(true);
    setProblem(null);
    try {
      await proposal.execute(plan.fingerprint);
      await queries.invalidateQueries();
      close();
    } catch (error) {
      if (isCode(error, 'plan_stale')) await renew();
      else setProblem(error);
    } finally {
      setBusy(false);
    }
  }

  async function renew() {
    try {
      setPlan(await proposal.previewAgain());
      setStale(true);
    } catch (error) {
      setProblem(error);
    }
  }

  return (
    <Modal
      opened
      onClose={() => !isBusy && close()}
      title={proposal.title}
      size="lg"
      withCloseButton={!isBusy}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isConfirmed && !isBusy) void confirm();
        }}
      >
        <Stack>
          <Hint>
            {plan.target.name && (
              <>
                {plan.target.kind.replaceAll('_', ' ')} <strong>{plan.target.name}</strong>:{' '}
              </>
            )}
            the following changes will be made.
          </Hint>
          {isStale && (
            <Alert color="yellow">The data has changed meanwhile. These are the changes now.</Alert>
          )}
          <PlanView plan={plan} />
          {plan.irreversible && (
            <TextInput
              label={`Type “${word}” to confirm`}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          <ProblemAlert error={problem} />
          <Group justify="flex-end">
            <SecondaryButton
              onClick={close}
              disabled={isBusy}
              data-autofocus={isCareful && !plan.irreversible ? true : undefined}
            >
              Cancel
            </SecondaryButton>
            <BusyButton
              type="submit"
              loading={isBusy}
              disabled={!isConfirmed}
              color={plan.irreversible ? 'red' : undefined}
              data-autofocus={isCareful ? undefined : true}
            >
              {verb}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

const effectColors: Record<PlanChange['effect'], string> = { create: 'green', update: 'blue', delete: 'red' };

function PlanView({ plan }: { plan: Plan }) {
  return (
    <Stack gap="sm">
      {plan.warnings.map((warning) => (
        <Alert key={warning} color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          {warning}
        </Alert>
      ))}
      {plan.irreversible && (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />}>
          This cannot be undone.
        </Alert>
      )}
      {plan.effects && plan.effects.length > 0 && (
        <Alert color="blue" title="Effects on grants">
          <List size="sm">
            {plan.effects.map(({ grant_id, path, text }) => (
              <List.Item key={`${grant_id} ${path}`}>{text}</List.Item>
            ))}
          </List>
          {plan.effects_left_off && <Text size="sm">Possibly {plan.effects_left_off} more.</Text>}
        </Alert>
      )}
      {plan.changes.length === 0 ? (
        <Text>Nothing will change.</Text>
      ) : (
        <DataTable
          label="Changes"
          minWidth={0}
          verticalSpacing={6}
          rows={plan.changes}
          keyOf={({ path }) => path}
          columns={[
            {
              head: 'Field',
              cell: ({ effect, path }) => (
                <Group gap={6} wrap="nowrap">
                  <Badge size="xs" variant="light" color={effectColors[effect]}>
                    {effect}
                  </Badge>
                  <Mono>{path}</Mono>
                </Group>
              ),
            },
            { head: 'Change', cell: (change) => <ChangeText change={change} /> },
          ]}
        />
      )}
    </Stack>
  );
}

function ChangeText({ change: { before, after, effect } }: { change: PlanChange }) {
  return (
    <Text span size="sm">
      {effect !== 'create' && <Code>{formatValue(before)}</Code>}
      {effect === 'update' && (
        <>
          <VisuallyHidden>becomes</VisuallyHidden>
          <span aria-hidden> → </span>
        </>
      )}
      {effect !== 'delete' && <Code>{formatValue(after)}</Code>}
    </Text>
  );
}

const valueCharsMax = 300;

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  const text = typeof value === 'string' ? value || '""' : JSON.stringify(value);
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)} …` : text;
}
