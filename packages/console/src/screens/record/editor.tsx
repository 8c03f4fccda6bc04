import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { lineStarts, placeOf } from '../../text/place.ts'
import { tokensOf } from '../../text/tokens.ts'

// A plain text field, and over it the same lines in colour. Only the lines in view are drawn, so the length of the text
// hardly counts.

const draw = (text: string) => {
  const parts = []
  let drawn = 0
  for (const { kind, start, end } of tokensOf(text)) {
    // Marks and names have the colour of text.
    if (kind === 'mark' || kind === 'name') continue
    parts.push(
      text.slice(drawn, start),
      <span key={start} class={`json-${kind}`}>
        {text.slice(start, end)}
      </span>,
    )
    drawn = end
  }
  parts.push(text.slice(drawn))
  return <div>{parts}</div>
}

/** One line of the editor. It is drawn again only when its text changes. */
const ColouredLine = ({ text }: { text: string }) => useMemo(() => draw(text.replace(/\n$/, '')), [text])

/** The line height in record-screen.css is the same. */
const lineHeightPx = 20
const spareLines = 4
/** The field shows its own text, without colours, if a line is longer: drawing such a line twice would make typing slow. */
const colouredLineMax = 2_000
/** Up to here a change by the console can be undone by Ctrl+Z. Browsers insert long texts that way very slowly. */
const undoableCharactersMax = 20_000

export interface EditorControl {
  /** Puts the caret there and scrolls to it. */
  goTo: (offset: number) => void
  /** Replaces the text as if the reader had typed it. */
  replace: (text: string) => void
}

interface Props {
  text: ReadonlySignal<string>
  isReadOnly: boolean
  describedBy: string
  isFaulty: boolean
  onInput: (text: string) => void
  onCaret: (place: { line: number; column: number }) => void
  control: RefObject<EditorControl | null>
}

export const Editor = ({ text, isReadOnly, describedBy, isFaulty, onInput, onCaret, control }: Props) => {
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const layer = useRef<HTMLDivElement>(null)
  const gutter = useRef<HTMLDivElement>(null)
  /** The text in the field, so that its long value is not read again for each comparison. */
  const inField = useRef('')
  const starts = useComputed(() => lineStarts(text.value))
  const isPlain = useComputed(() => {
    const all = starts.value
    const end = text.value.length + 1
    return all.some((start, i) => (all[i + 1] ?? end) - start > colouredLineMax)
  })
  const view = useSignal({ first: 0, count: 60 })

  const scroll = () => {
    // A change of size may still be told after the field is gone.
    if (area.current === null) return
    const { scrollTop, scrollLeft, clientHeight } = area.current
    const first = Math.max(0, Math.floor(scrollTop / lineHeightPx) - spareLines)
    const count = Math.ceil(clientHeight / lineHeightPx) + 2 * spareLines
    if (first !== view.value.first || count !== view.value.count) view.value = { first, count }
    const y = first * lineHeightPx - scrollTop
    if (layer.current) layer.current.style.transform = `translate(${-scrollLeft}px, ${y}px)`
    gutter.current!.style.transform = `translateY(${y}px)`
  }

  useLayoutEffect(() => {
    if (inField.current === text.value) return
    const field = area.current!
    const at = field.selectionStart
    field.value = text.value
    inField.current = text.value
    field.setSelectionRange(at, at)
    scroll()
  }, [text.value])
  useLayoutEffect(scroll, [view.value, isPlain.value])
  useEffect(() => {
    const watcher = new ResizeObserver(scroll)
    watcher.observe(area.current!)
    let frame = 0
    const tellCaret = () => {
      if (document.activeElement !== area.current) return
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => onCaret(placeOf(inField.current, area.current?.selectionStart ?? 0)))
    }
    document.addEventListener('selectionchange', tellCaret)
    return () => {
      watcher.disconnect()
      cancelAnimationFrame(frame)
      document.removeEventListener('selectionchange', tellCaret)
    }
  }, [])

  const take = () => {
    inField.current = area.current!.value
    onInput(inField.current)
    scroll()
  }

  control.current = {
    goTo: (at) => {
      const field = area.current!
      field.focus()
      field.setSelectionRange(at, at)
      field.scrollTop = (placeOf(inField.current, at).line - 1) * lineHeightPx - field.clientHeight / 3
    },
    replace: (replacement) => {
      const field = area.current!
      if (Math.max(replacement.length, inField.current.length) <= undoableCharactersMax) {
        field.focus()
        field.select()
        if (document.execCommand('insertText', false, replacement)) return field.setSelectionRange(0, 0)
      }
      onInput(replacement)
    },
  }

  /** The next line begins where this one does. */
  const indent = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || isReadOnly)
      return
    const { selectionStart } = area.current!
    const before = inField.current.slice(inField.current.lastIndexOf('\n', selectionStart - 1) + 1, selectionStart)
    const space = /^[ \t]*/.exec(before)![0] + (/[{[]\s*$/.test(before) ? '  ' : '')
    if (space !== '' && document.execCommand('insertText', false, `\n${space}`)) event.preventDefault()
  }

  const { first, count } = view.value
  const all = starts.value
  const last = Math.min(all.length, first + count)
  const lines = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i)
  const digits = Math.max(2, String(all.length).length)
  return (
    <div class={isPlain.value ? 'editor plain' : 'editor'}>
      <div class="editor-gutter" aria-hidden="true" style={{ width: `calc(${digits}ch + 24px)` }}>
        <div ref={gutter}>
          {lines.map((line) => (
            <div key={line}>{line + 1}</div>
          ))}
        </div>
      </div>
      <div class="editor-text">
        <label class="offscreen" for={id}>
          Data as JSON text
        </label>
        <textarea
          ref={area}
          id={id}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          readOnly={isReadOnly}
          aria-describedby={describedBy}
          aria-invalid={isFaulty}
          onInput={take}
          onScroll={scroll}
          onKeyDown={indent}
        />
        {!isPlain.value && (
          <div class="editor-layer" aria-hidden="true">
            <div ref={layer}>
              {lines.map((line) => (
                <ColouredLine key={line} text={text.value.slice(all[line], all[line + 1] ?? undefined)} />
              ))}
            </div>
          </div>
        )}
      </div>
    </div>
  )
}
