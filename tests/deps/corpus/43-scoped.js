// needs: @aws-sdk/client-s3 lodash
const { S3Client } = require("@aws-sdk/client-s3");
const map = require("lodash/fp/map");

console.log(new S3Client({}), map((x) => x)([1]));
