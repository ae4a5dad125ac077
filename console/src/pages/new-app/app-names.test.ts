import { expect, test } from 'bun:test';
import { emptyNames, resolveNames } from './app-names.ts';

test('the slug is derived from the name and the subdomain from the slug', () => {
  expect(resolveNames(emptyNames)).toEqual({ slug: '', subdomain: '' });
  expect(resolveNames({ ...emptyNames, name: 'Room Booking' })).toEqual({
    slug: 'room-booking',
    subdomain: 'room-booking',
  });
  expect(resolveNames({ name: 'Room Booking', slug: ' rooms ', subdomain: '' })).toEqual({
    slug: 'rooms',
    subdomain: 'rooms',
  });
  expect(resolveNames({ name: 'Room Booking', slug: '', subdomain: 'r' })).toEqual({
    slug: 'room-booking',
    subdomain: 'r',
  });
});
