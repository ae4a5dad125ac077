import { Avatar, ColorSwatch, Group, Text } from '@mantine/core';
import { deleteCategory, listCategories } from '@svc/contract/categories.ts';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { NewButton } from '../../../parts/new-button.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead } from '../list-head.tsx';
import { NameCell } from '../name-cell.tsx';
import { RowButton } from '../row-button.tsx';

export function CategoryList() {
  const tenant = useTenant();
  const page = usePage();
  const params = { tenantID: tenant.id };
  const answer = useAnswer(listCategories, { params, query: { page } });
  const remove = useChange(deleteCategory, {
    title: 'Delete a category',
    verb: 'Delete',
    done: 'The category is deleted.',
  });
  const path = (part: string) => adminPath(tenant.slug, 'categories', part);
  return (
    <PagedList
      answer={answer}
      empty={
        <Empty
          title="No category yet"
          command="svc categories create --name Finance --color '#1971c2' --execute"
          action={<NewButton to={path('new')} label="New category" />}
        >
          Categories sort the catalogue. An owner puts each app into one of them, or into none.
        </Empty>
      }
    >
      {(items) => (
        <>
          <ListHead to={path('new')} label="New category" />
          {remove.problem !== null && <ProblemAlert error={remove.problem} />}
          <DataTable
            label="Categories"
            minWidth={560}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Category',
                cell: ({ id, name, description, icon_url: icon }) => (
                  <Group gap="sm" wrap="nowrap">
                    {icon && <Avatar src={icon} size={32} radius="sm" alt="" />}
                    <NameCell to={path(id)} name={name} description={description} />
                  </Group>
                ),
              },
              { head: 'Slug', cell: ({ slug }) => slug, td: { className: 'mono' } },
              { head: 'Colour', cell: ({ color }) => (color === '' ? 'none' : <Colour color={color} />) },
              { head: 'Order', cell: (category) => category.display_order },
              {
                head: 'Actions',
                cell: ({ id, name }) => (
                  <RowButton
                    verb="Delete"
                    name={`category ${name}`}
                    onClick={() => void remove.propose({ params: { ...params, categoryID: id } })}
                  />
                ),
              },
            ]}
          />
        </>
      )}
    </PagedList>
  );
}

function Colour({ color }: { color: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <ColorSwatch color={color} size={16} />
      <Text span size="sm" className="mono">
        {color}
      </Text>
    </Group>
  );
}
