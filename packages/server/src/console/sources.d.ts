/** The files as `packages/console/build.ts` writes them. */
export declare const built: {
  script: string
  preloads: string[]
  style: string
  /** Texts by name. A name changes with its text. */
  files: Record<string, string>
}
export declare const icon: string
