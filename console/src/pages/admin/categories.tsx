import {
  Avatar,
  ColorInput,
  ColorSwatch,
  Group,
  NumberInput,
  SimpleGrid,
  Textarea,
  TextInput,
} from '@mantine/core';
import {
  categoryDescriptionCharsMax,
  categoryNameCharsMax,
  createCategory,
  deleteCategory,
  displayOrderMax,
  displayOrderMin,
  getCategory,
  listCategories,
  updateCategory,
} from '@svc/contract/categories.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { RowButton } from '../../components/buttons.tsx';
import { NameCell } from '../../components/data-table.tsx';
import { descriptionBelow } from '../../components/form-card.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { Mono } from '../../components/text.tsx';
import { usePage } from '../../components/url-state.ts';
import type { Form } from '../../components/use-form.ts';
import { AdminItem, AdminList, AdminRoutes, adminPath, FormPage, useAdminForm } from './form-page.tsx';

export default function CategoriesTab() {
  return <AdminRoutes list={CategoryList} create={NewCategory} item={CategoryPage} />;
}

function NewCategory() {
  const tenant = useTenant();
  const form = useAdminForm(createCategory, 'categories', emptyCategory, {
    title: 'Create a category',
    done: 'Category created.',
    input: ({ slug, ...body }) => ({
      params: { tenantID: tenant.id },
      body: { ...body, slug: slug || undefined },
    }),
  });
  return <CategoryForm title="New category" form={form} />;
}

function CategoryPage({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getCategory, { params: { tenantID: tenant.id, categoryID: id } });
  return (
    <AdminItem tab="categories" what="category" answer={answer}>
      {(category) => <EditCategory category={category} />}
    </AdminItem>
  );
}

function EditCategory({ category }: { category: Category }) {
  const tenant = useTenant();
  const { id, name, slug, description, color, icon_url, display_order } = category;
  const record = { name, slug, description, color, icon_url, display_order };
  const form = useAdminForm(updateCategory, 'categories', record, {
    title: 'Update a category',
    verb: 'Save',
    done: 'Category saved.',
    input: (body) => ({ params: { tenantID: tenant.id, categoryID: id }, body }),
  });
  return <CategoryForm title={name} form={form} />;
}

function CategoryList() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listCategories, { params, query: { page: usePage() } });
  const remove = useChange(deleteCategory, { title: 'Delete a category', done: 'Category deleted.' });
  return (
    <AdminList
      tab="categories"
      noun="category"
      answer={answer}
      problem={<ProblemAlert error={remove.problem} />}
      command="svc categories create --name Finance --color '#1971c2' --execute"
      lead="Categories structure the catalogue. An app belongs to one category or none."
      label="Categories"
      minWidth={560}
      columns={[
        {
          head: 'Category',
          cell: ({ id, name, description, icon_url: icon }) => (
            <Group gap="sm" wrap="nowrap">
              {icon && <Avatar src={icon} size={32} radius="sm" alt="" />}
              <NameCell
                to={adminPath(tenant.slug, 'categories', id)}
                name={name}
                description={description}
                lineClamp={2}
              />
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
  );
}

function Colour({ color }: { color: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <ColorSwatch color={color} size={16} />
      <Mono>{color}</Mono>
    </Group>
  );
}

type Category = Answer<NonNullable<typeof getCategory.shape>>;

const emptyCategory = { name: '', slug: '', description: '', color: '', icon_url: '', display_order: 0 };

const swatches = ['#1971c2', '#2f9e44', '#e8590c', '#e03131', '#9c36b5', '#0c8599', '#f08c00', '#495057'];

function CategoryForm({ title, form }: { title: string; form: Form<typeof emptyCategory> }) {
  const { field } = form;
  return (
    <FormPage tab="categories" title={title} submit="Save category" form={form}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput {...field('name')} maxLength={categoryNameCharsMax} required />
        <TextInput
          {...field('slug')}
          description="Used in URLs and commands."
          inputWrapperOrder={descriptionBelow}
          placeholder={slugFromName(form.values.name) ?? ''}
          classNames={{ input: 'mono' }}
        />
        <ColorInput
          {...field('color')}
          label="Colour"
          description="#rrggbb; empty for none."
          inputWrapperOrder={descriptionBelow}
          swatches={swatches}
          withEyeDropper={false}
          fixOnBlur={false}
        />
        <NumberInput
          {...field('display_order')}
          label="Order"
          description="Lower numbers come first, equal ones by name."
          inputWrapperOrder={descriptionBelow}
          min={displayOrderMin}
          max={displayOrderMax}
          allowDecimal={false}
        />
      </SimpleGrid>
      <TextInput
        {...field('icon_url')}
        label="Icon"
        description="The URL of an uploaded icon; empty for none."
        type="url"
      />
      <Textarea {...field('description')} maxLength={categoryDescriptionCharsMax} />
    </FormPage>
  );
}
