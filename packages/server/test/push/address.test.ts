import { describe, expect, test } from 'bun:test'
import { standingOf } from '../../src/push/address.ts'
import { allowNothing, parseAllow } from '../../src/push/allow.ts'

const refused = {
  'loopback and this host': ['127.0.0.1', '127.255.255.255', '0.0.0.0', '0.1.2.3', '::1', '::'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', 'fc00::1', 'fdff::1'],
  'link-local and site-local': ['169.254.169.254', 'fe80::1', 'febf::1', 'fec0::1'],
  'shared by carriers': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  'reserved, tests and documentation': [
    ...['192.0.0.1', '192.0.0.192', '192.0.2.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1'],
    ...['240.0.0.1', '255.255.255.254', '192.88.99.1', '2001:db8::1', '2001:2::1', '3fff::1', '100::1', '2001:10::1'],
  ],
  'multicast and broadcast': ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1', 'ff0e::1'],
  'not assigned': ['4000::1', '1::1', '5f00::1', 'e000::1', '200::1'],
  'IPv4-mapped': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a00:1',
    '::FFFF:10.0.0.1',
    '::ffff:169.254.169.254',
  ],
  'IPv4-compatible': ['::127.0.0.1', '::7f00:1', '::10.0.0.1', '::a9fe:a9fe'],
  'IPv4-translated': ['::ffff:0:127.0.0.1', '::ffff:0:a00:1'],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::5', '2002:a9fe:a9fe::', '2002:6440:1::'],
  'Teredo, server or client': [
    '2001:0:7f00:1:0:0:f7f7:f7f7',
    '2001:0:808:808:0:0:80ff:fffe', // 127.0.0.1, flipped
    '2001:0:808:808:0:0:f5ff:fffe', // 10.0.0.1
  ],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::c0a8:101', '64:ff9b::a9fe:a9fe', '64:ff9b:0:0:0:0:7f00:1'],
  'local NAT64, in every layout': [
    ...['64:ff9b:1::7f00:1', '64:ff9b:1:7f00:0:100::', '64:ff9b:1:7f:0:1::', '64:ff9b:1:0:7f:0:100::'],
    ...['64:ff9b:1:ffff::808:808'],
  ],
  ISATAP: [
    '2600::5efe:127.0.0.1',
    '2600::5efe:a00:1',
    '2600::200:5efe:c0a8:101',
    'fe80::5efe:808:808',
    'fd00::5efe:808:808',
  ],
  '6to4 with ISATAP inside': ['2002:808:808::5efe:a00:1'],
  "the host of Azure's virtual machines": [
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '64:ff9b::a83f:8110',
    '2002:a83f:8110::1',
  ],
  'zone ids': ['fe80::1%eth0', '::1%lo', '2600::1%1', '127.0.0.1%lo'],
  'what is not an address': [
    '',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '010.0.0.1',
    '8.8.8.08',
    '::ffff:0x7f.0.0.1',
  ],
}

describe('addresses that are refused', () => {
  for (const [what, addresses] of Object.entries(refused)) {
    test(what, () => {
      expect(addresses.filter((address) => standingOf(address, allowNothing) !== 'refused')).toEqual([])
    })
  }
})

test('public addresses, also with IPv4 inside, are public', () => {
  const addresses = [
    ...['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.255.255', '100.128.0.1', '126.0.0.1', '128.0.0.1'],
    ...['168.63.129.15', '168.63.129.17'],
    ...['223.255.255.255', '11.0.0.1', '192.0.1.1', '198.17.0.1', '198.20.0.1', '2600::1', '2a00:1450::1'],
    ...['::ffff:8.8.8.8', '::8.8.8.8', '64:ff9b::808:808', '2002:808:808::1', '2001:0:808:808:0:0:f7f7:f7f7'],
    ...['2600::5efe:808:808', '2600::200:5efe:808:808'],
  ]
  expect(addresses.filter((address) => standingOf(address, allowNothing) !== 'public')).toEqual([])
})

describe('--push-allow', () => {
  const standings = (allow: string, addresses: string[]) =>
    addresses.map((address) => standingOf(address, parseAllow(allow)))

  test('names its networks, in every spelling, and nothing beside them', () => {
    expect(standings('10.0.0.0/8', ['10.1.2.3', '::ffff:10.1.2.3', '64:ff9b::a00:1'])).toEqual([
      'named',
      'named',
      'named',
    ])
    expect(standings('10.0.0.0/8', ['11.0.0.1', '192.168.0.1', '::1'])).toEqual(['public', 'refused', 'refused'])
    expect(standings('fd00::/8, 127.0.0.1', ['fd12::1', 'fc00::1', '127.0.0.1', '127.0.0.2'])).toEqual([
      ...(['named', 'refused', 'named', 'refused'] as const),
    ])
    expect(standings('64:ff9b:1::/48', ['64:ff9b:1::808:808'])).toEqual(['named'])
    expect(standings('8.8.8.0/24', ['8.8.8.8', '8.8.9.8'])).toEqual(['named', 'public'])
    expect(standings('10.0.0.5/8', ['10.9.9.9'])).toEqual(['named'])
    expect(standings('168.63.129.16', ['168.63.129.16', '::ffff:168.63.129.16'])).toEqual(['named', 'named'])
  })

  test('an IPv4 address that is allowed does not allow the network around it', () => {
    expect(standings('10.0.0.0/8', ['fd00::5efe:a00:1', 'fe80::5efe:a00:1', '2600::5efe:a00:1'])).toEqual([
      ...(['refused', 'refused', 'public'] as const),
    ])
    expect(standings('10.0.0.0/8', ['2001:0:a00:1:0:0:80ff:fffe'])).toEqual(['refused'])
  })

  test('a network that cannot be read stops the start and is named', () => {
    const bad = [
      '',
      '10.0.0.0/8,',
      '10.0.0.0/33',
      'fd00::/129',
      '10/8',
      '010.0.0.0/8',
      '0x0a.0.0.0/8',
      'example.com',
      '10.0.0.0/-1',
    ]
    for (const text of [...bad, '10.0.0.0/8/9', 'fe80::1%eth0/64', '10.0.0.0 /8', '::ffff:010.0.0.1/128']) {
      expect(() => parseAllow(text)).toThrow(/^--push-allow: .*; give networks as 10\.0\.0\.0\/8,fd00::\/8$/)
    }
  })
})
