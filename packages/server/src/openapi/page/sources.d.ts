export declare const style: string
/** The modules of the script, by their names in `browser`. */
export declare const scriptSources: Record<string, string>
