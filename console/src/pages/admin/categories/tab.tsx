import { createCategory, getCategory, updateCategory } from '@svc/contract/categories.ts';
import { useParams } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { adminPath } from '../admin-path.ts';
import { NoSuchThing } from '../no-such-thing.tsx';
import { useFormChange } from '../use-form-change.ts';
import { CategoryForm, emptyCategory } from './category-form.tsx';
import { CategoryList } from './category-list.tsx';

export default function CategoriesTab() {
  const { part } = useParams<{ part?: string }>();
  if (part === undefined) return <CategoryList />;
  return part === 'new' ? <NewCategory /> : <OneCategory id={part} />;
}

function NewCategory() {
  const tenant = useTenant();
  const change = useFormChange(createCategory, 'categories', {
    title: 'Create a category',
    verb: 'Create',
    done: 'The category is created.',
  });
  return (
    <CategoryForm
      title="New category"
      initial={emptyCategory}
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

function OneCategory({ id }: { id: string }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, categoryID: id };
  const answer = useAnswer(getCategory, { params });
  const change = useFormChange(updateCategory, 'categories', {
    title: 'Change a category',
    verb: 'Save',
    done: 'The category is changed.',
  });
  if (isCode(answer.error, 'not_found')) {
    const back = { to: adminPath(tenant.slug, 'categories'), label: 'All categories' };
    return <NoSuchThing error={answer.error} what="category" back={back} />;
  }
  return (
    <AnswerView answer={answer}>
      {({ name, slug, description, color, icon_url, display_order }) => (
        <CategoryForm
          key={id}
          title={name}
          initial={{ name, slug, description, color, icon_url, display_order }}
          change={change}
          onSubmit={(body) => void change.propose({ params, body })}
        />
      )}
    </AnswerView>
  );
}
