RayPrometheusStatLogger = object
