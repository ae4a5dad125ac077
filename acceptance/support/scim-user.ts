import type { Directory } from './scim.ts';

export const core = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

export const emails = [
  { value: 'bjensen@example.com', type: 'work', primary: true },
  { value: 'babs@jensen.org', type: 'home' },
];
const workAddress = {
  streetAddress: '100 Universal City Plaza',
  locality: 'Hollywood',
  region: 'CA',
  postalCode: '91608',
  country: 'USA',
  formatted: '100 Universal City Plaza\nHollywood, CA 91608 USA',
  type: 'work',
};
/** RFC 7643 §8.2 and §8.3. */
export const fullUser = {
  schemas: [core, enterprise],
  externalId: '701984',
  userName: 'bjensen@example.com',
  name: {
    formatted: 'Ms. Barbara J Jensen, III',
    familyName: 'Jensen',
    givenName: 'Barbara',
    middleName: 'Jane',
    honorificPrefix: 'Ms.',
    honorificSuffix: 'III',
  },
  displayName: 'Babs Jensen',
  nickName: 'Babs',
  profileUrl: 'https://login.example.com/bjensen',
  emails,
  addresses: [
    { ...workAddress, primary: true },
    {
      ...workAddress,
      streetAddress: '456 Hollywood Blvd',
      formatted: '456 Hollywood Blvd\nHollywood, CA 91608 USA',
      type: 'home',
    },
  ],
  phoneNumbers: [
    { value: '555-555-5555', type: 'work' },
    { value: '555-555-4444', type: 'mobile' },
  ],
  ims: [{ value: 'someaimhandle', type: 'aim' }],
  photos: [
    { value: 'https://photos.example.com/profilephoto/72930000000Ccne/F', type: 'photo' },
    { value: 'https://photos.example.com/profilephoto/72930000000Ccne/T', type: 'thumbnail' },
  ],
  userType: 'Employee',
  title: 'Tour Guide',
  preferredLanguage: 'en-US',
  locale: 'en-US',
  timezone: 'America/Los_Angeles',
  active: true,
  x509Certificates: [{ value: 'MIIDQzCCAqygAwIBAgICEAAwDQYJKoZIhvcNAQEFBQAwTjELMAkGA1UEBhMC'.repeat(20) }],
  [enterprise]: {
    employeeNumber: '701984',
    costCenter: '4130',
    organization: 'Universal Studios',
    division: 'Theme Park',
    department: 'Tour Operations',
    manager: {
      value: '26118915-6090-4610-87e4-49d8ca9f808d',
      $ref: '../Users/26118915-6090-4610-87e4-49d8ca9f808d',
      displayName: 'John Smith',
    },
  },
};
export const createFull = (directory: Directory, more: object = {}) =>
  directory.done('POST', '/Users', { ...fullUser, password: 't1meMa$heen', ...more });
