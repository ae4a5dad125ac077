import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Plan } from '@svc/contract/plan.ts';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { isCode } from '../api/query-client.ts';
import { BusyButton } from '../parts/busy-button.tsx';
import { ProblemAlert } from '../parts/problem-alert.tsx';
import { useReturnedFocus } from '../parts/use-returned-focus.ts';
import { PlanView } from './plan-view.tsx';
import { takesAway } from './takes-away.ts';

/** A change that the server has previewed and somebody is asked to confirm. */
export interface Proposal {
  title: string;
  /** On the button that does it. */
  verb: string;
  plan: Plan;
  /** Executes exactly this plan. */
  execute(fingerprint: string): Promise<void>;
  previewAgain(): Promise<Plan>;
}

const ProposeContext = createContext<(proposal: Proposal) => void>(() => {});
export const usePropose = () => useContext(ProposeContext);

/** The one place where changes are confirmed; pages propose them with `useChange`. */
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
          // One change may lead to the next, which must not be closed with it.
          close={() => setProposal((now) => (now === proposal ? null : now))}
        />
      )}
    </ProposeContext.Provider>
  );
}

function ChangeDialog({ proposal, close }: { proposal: Proposal; close: () => void }) {
  useReturnedFocus();
  const queries = useQueryClient();
  const [plan, setPlan] = useState(proposal.plan);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [isStale, setStale] = useState(false);
  const [typed, setTyped] = useState('');
  // An id is nothing to type: then the verb is what confirms.
  const name = uuidPattern.test(plan.target.name) ? '' : plan.target.name;
  const word = name || proposal.verb;
  // A key that is pressed a second time must not do what takes something away.
  const isCareful = takesAway(plan);
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
      // How it ends is told here: it stays until it has.
      onClose={() => !isBusy && close()}
      title={proposal.title}
      size="lg"
      withCloseButton={!isBusy}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isConfirmed && !isBusy) void confirm();
        }}
      >
        <Stack>
          <Text size="sm" c="dimmed">
            {plan.target.name && (
              <>
                {plan.target.kind.replaceAll('_', ' ')} <strong>{plan.target.name}</strong>:{' '}
              </>
            )}
            this is what will happen.
          </Text>
          {isStale && (
            <Alert color="yellow">Something has changed meanwhile. This is what would happen now.</Alert>
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
          {problem !== null && <ProblemAlert error={problem} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              onClick={close}
              disabled={isBusy}
              data-autofocus={isCareful && !plan.irreversible ? true : undefined}
            >
              Cancel
            </Button>
            <BusyButton
              type="submit"
              loading={isBusy}
              disabled={!isConfirmed}
              color={plan.irreversible ? 'red' : undefined}
              data-autofocus={isCareful ? undefined : true}
            >
              {proposal.verb}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
