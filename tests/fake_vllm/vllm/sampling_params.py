StructuredOutputsParams = dict
