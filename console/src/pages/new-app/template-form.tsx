import { Radio, SimpleGrid } from '@mantine/core';
import { startBootstrap } from '@svc/contract/bootstrap.ts';
import { listTemplates } from '@svc/contract/templates.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { AnswerView } from '../../parts/answer-view.tsx';
import { useSearchValue } from '../../parts/use-search-value.ts';
import { NamesAndRepo, useNamesAndRepo } from './names-and-repo.tsx';
import type { StartedRun } from './started-run.ts';
import { WayForm } from './way-form.tsx';

/** The record, the repository and the first deployment in one go. */
export function TemplateForm({ started }: { started: (run: StartedRun) => void }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const templates = useAnswer(listTemplates, { params, query: {} });
  const [chosen, setChosen] = useSearchValue('template');
  const typed = useNamesAndRepo();
  const change = useChange(startBootstrap, {
    title: 'Make an app from a template',
    verb: 'Make the app',
    done: 'The app is being made.',
    onDone: started,
  });
  const first = templates.data?.items[0];
  const template = chosen || (first ? (first.alias ?? first.id) : '');
  const submit = () => void change.propose({ params, body: { template, ...typed.body } });
  return (
    <WayForm title="From a template" change={change} submit={submit}>
      <AnswerView answer={templates} lines={3}>
        {({ items }) => (
          <Radio.Group
            label="Template"
            value={template}
            onChange={setChosen}
            error={change.errorOf('template')}
          >
            <SimpleGrid cols={{ base: 1, sm: 2 }} mt="xs">
              {items.map(({ id, alias, name, description, framework, built_in: isBuiltIn }) => (
                <Radio
                  key={id}
                  value={alias ?? id}
                  label={isBuiltIn ? name : `${name} (of this tenant)`}
                  description={description || framework}
                />
              ))}
            </SimpleGrid>
          </Radio.Group>
        )}
      </AnswerView>
      <NamesAndRepo typed={typed} errorOf={change.errorOf} />
    </WayForm>
  );
}
