import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { contentDisposition } from '../../../src/core/files/content-disposition.ts'

const named = (name: string, download?: true | string) => contentDisposition(name, 'image/png', download)

describe('Content-Disposition', () => {
  test.each([
    ['a.png', 'inline; filename="a.png"'],
    ['dir/sub/a b.png', 'inline; filename="a b.png"'],
    ['q"uote.png', `inline; filename="q\\"uote.png"; filename*=UTF-8''q%22uote.png`],
    ['back\\slash', `inline; filename="back\\\\slash"; filename*=UTF-8''back%5Cslash`],
    ['100%41.png', `inline; filename="100%41.png"; filename*=UTF-8''100%2541.png`],
    ['naïve.png', `inline; filename="na_ve.png"; filename*=UTF-8''na%C3%AFve.png`],
    ['日本.png', `inline; filename="_.png"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.png`],
    ["it's (1)*!.png", `inline; filename="it's (1)*!.png"`],
    ["ü'()*!~.png", `inline; filename="_'()*!~.png"; filename*=UTF-8''%C3%BC%27%28%29%2A!~.png`],
  ])('%s', (name, expected) => {
    expect(named(name)).toBe(expected)
  })

  test('download saves what would be shown, under its own name or another', () => {
    expect(named('x/a.png', true)).toBe('attachment; filename="a.png"')
    expect(named('x/a.png', 'b/c.png')).toBe('attachment; filename="b/c.png"')
  })

  test('nothing but the listed types is shown, whatever its case and parameters', () => {
    const kind = (type: string) => contentDisposition('a', type).split(';')[0]
    expect(['image/jpeg', 'Image/GIF', 'image/webp;q=1', 'image/avif', 'image/bmp', 'image/x-icon'].map(kind)).toEqual(
      Array(6).fill('inline'),
    )
    expect(['text/plain', 'TEXT/plain ; charset=x', 'application/pdf', 'audio/wav', 'video/mp4'].map(kind)).toEqual(
      Array(5).fill('inline'),
    )
    const saved = [
      'text/html',
      'image/svg+xml',
      'application/xhtml+xml',
      'text/xml',
      'text/css',
      'image/',
      'audio',
      'x',
    ]
    expect(saved.map(kind)).toEqual(Array(saved.length).fill('attachment'))
  })

  test('any name gives one safe header, from which the name can be read again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
        const given = text.toWellFormed().replaceAll('/', '')
        fc.pre(given !== '')
        const header = named(given)
        // Control characters are not kept in any form.
        const name = given.replace(/\p{Cc}+/gu, '_')
        expect(header).toMatch(/^[\x20-\x7e]+$/)
        expect(new Headers({ 'content-disposition': header }).get('content-disposition')).toBe(header)
        const extended = /filename\*=UTF-8''(\S+)$/.exec(header)?.[1]
        const plain = /filename="((?:[^"\\]|\\.)*)"/.exec(header)![1]!
        expect(extended === undefined ? plain : decodeURIComponent(extended)).toBe(name)
        if (extended !== undefined) expect(extended).toMatch(/^(?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-F]{2})+$/)
      }),
    )
  })
})
