import { Avatar, ColorSwatch, Group, Stack, Table, Text } from '@mantine/core';
import { deleteCategory, listCategories } from '@svc/contract/categories.ts';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead, NewButton } from '../list-head.tsx';
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
    <AnswerView answer={answer}>
      {({ items, page: shown, per_page: perPage, total }) =>
        items.length === 0 && shown > 1 ? (
          <PastTheEnd />
        ) : total === 0 ? (
          <Empty
            title="No category yet"
            command="svc categories create --name Finance --color '#1971c2' --execute"
            action={<NewButton to={path('new')} label="New category" />}
          >
            Categories sort the catalogue. An owner puts each app into one of them, or into none.
          </Empty>
        ) : (
          <>
            <ListHead to={path('new')} label="New category" />
            {remove.problem !== null && <ProblemAlert error={remove.problem} />}
            <Table.ScrollContainer minWidth={560}>
              <Table highlightOnHover verticalSpacing="sm" aria-label="Categories">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Category</Table.Th>
                    <Table.Th>Slug</Table.Th>
                    <Table.Th>Colour</Table.Th>
                    <Table.Th>Order</Table.Th>
                    <Table.Th>Actions</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((category) => (
                    <Table.Tr key={category.id}>
                      <Table.Td>
                        <Group gap="sm" wrap="nowrap">
                          {category.icon_url && (
                            <Avatar src={category.icon_url} size={32} radius="sm" alt="" />
                          )}
                          <Stack gap={0}>
                            <LinkTo to={path(category.id)} fw={600}>
                              {category.name}
                            </LinkTo>
                            {category.description && (
                              <Text size="sm" c="dimmed" lineClamp={2}>
                                {category.description}
                              </Text>
                            )}
                          </Stack>
                        </Group>
                      </Table.Td>
                      <Table.Td className="mono">{category.slug}</Table.Td>
                      <Table.Td>
                        {category.color === '' ? (
                          'none'
                        ) : (
                          <Group gap={6} wrap="nowrap">
                            <ColorSwatch color={category.color} size={16} />
                            <Text span size="sm" className="mono">
                              {category.color}
                            </Text>
                          </Group>
                        )}
                      </Table.Td>
                      <Table.Td>{category.display_order}</Table.Td>
                      <Table.Td>
                        <RowButton
                          verb="Delete"
                          name={`category ${category.name}`}
                          onClick={() =>
                            void remove.propose({ params: { ...params, categoryID: category.id } })
                          }
                        />
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            <Pager page={shown} perPage={perPage} total={total} />
          </>
        )
      }
    </AnswerView>
  );
}
