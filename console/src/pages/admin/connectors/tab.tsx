import { createConnector, getConnector, updateConnector } from '@svc/contract/connectors.ts';
import { useParams } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { adminPath } from '../admin-path.ts';
import { NoSuchThing } from '../no-such-thing.tsx';
import { useFormChange } from '../use-form-change.ts';
import { ConnectorForm, emptyConnector } from './connector-form.tsx';
import { ConnectorList } from './connector-list.tsx';

export default function ConnectorsTab() {
  const { part } = useParams<{ part?: string }>();
  if (part === undefined) return <ConnectorList />;
  return part === 'new' ? <NewConnector /> : <OneConnector id={part} />;
}

function NewConnector() {
  const tenant = useTenant();
  const change = useFormChange(createConnector, 'connectors', {
    title: 'Register a connector',
    verb: 'Register',
    done: 'The connector is registered.',
  });
  return (
    <ConnectorForm
      title="New connector"
      use="create"
      initial={emptyConnector}
      change={change}
      onSubmit={({ slug, ...body }) =>
        void change.propose({
          params: { tenantID: tenant.id },
          body: slug === '' ? body : { slug, ...body },
        })
      }
    />
  );
}

function OneConnector({ id }: { id: string }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, connectorID: id };
  const answer = useAnswer(getConnector, { params });
  const change = useFormChange(updateConnector, 'connectors', {
    title: 'Change a connector',
    verb: 'Save',
    done: 'The connector is changed.',
  });
  if (isCode(answer.error, 'not_found')) {
    const back = { to: adminPath(tenant.slug, 'connectors'), label: 'All connectors' };
    return <NoSuchThing error={answer.error} what="connector" back={back} />;
  }
  return (
    <AnswerView answer={answer}>
      {({ name, slug, kind, description }) => (
        <ConnectorForm
          key={id}
          title={name}
          use="edit"
          initial={{ name, slug, kind, description }}
          change={change}
          onSubmit={(draft) =>
            void change.propose({ params, body: { name: draft.name, description: draft.description } })
          }
        />
      )}
    </AnswerView>
  );
}
