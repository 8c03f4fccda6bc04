import { signal } from '@preact/signals'
import { messageOf } from '../api/error.ts'
import { announce } from './announce.ts'

// Messages about things that are out of sight when they are done. The newest message is shown, and the newest one with Undo.

interface Toast {
  id: number
  text: string
  undo?: () => unknown
}

const shownMs = 8000
const toasts = signal<Toast[]>([])
let lastId = 0

const close = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

/** An error that `undo` throws is said by another toast. */
export const toast = (text: string, undo?: () => unknown): void => {
  const id = ++lastId
  toasts.value = [
    ...toasts.value.filter((other) => (other.undo === undefined) !== (undo === undefined)),
    { id, text, undo },
  ]
  announce(text)
  setTimeout(() => close(id), shownMs)
}

export const Toasts = () => (
  <div class="toasts">
    {toasts.value.map(({ id, text, undo }) => (
      <div class="toast" key={id}>
        <span>{text}</span>
        {undo && (
          <button
            type="button"
            class="link"
            onClick={async () => {
              close(id)
              try {
                await undo()
              } catch (error) {
                toast(messageOf(error))
              }
            }}
          >
            Undo
          </button>
        )}
        <button type="button" class="quiet" aria-label="Close this message" onClick={() => close(id)}>
          ×
        </button>
      </div>
    ))}
  </div>
)
