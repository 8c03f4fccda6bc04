import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** True while the page is as the media query says. */
export const useMedia = (media: MediaQueryList): boolean => {
  const isMatching = useSignal(media.matches)
  useEffect(() => {
    const change = () => {
      isMatching.value = media.matches
    }
    media.addEventListener('change', change)
    return () => media.removeEventListener('change', change)
  }, [])
  return isMatching.value
}
